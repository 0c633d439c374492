"""What the topics give the report: texts that compile, figures whose panels differ."""

from __future__ import annotations

import pytest

from verify.running.registry import topics
from verify.statements.markup import check_compiled


@pytest.mark.parametrize("name", list(topics()))
def test_every_text_is_markup(name: str) -> None:
    topic = topics()[name]
    texts = [(claim.id, field, text) for claim in topic.claims.values() for field, text in claim.texts().items()]
    check_compiled([*topic.texts(), *texts])


@pytest.mark.parametrize("name", list(topics()))
def test_no_claim_is_shown_twice(name: str) -> None:
    panels = [panel.claim for figure in topics()[name].figures for panel in figure.panels]
    assert len(set(panels)) == len(panels)
