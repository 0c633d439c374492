"""What the topics give the report: texts that compile, names of claims that exist."""

from __future__ import annotations

import json

import pytest
import typst

from reports.render import PROBE, compile_file
from verify.statements.topics import topics
from verify.statements.wording import filled

ALL_AT_ONCE = b'#for text in json(bytes(sys.inputs.texts)) { block(eval(text, mode: "markup")) }'


class Anything(dict):
    """A counterexample with every number."""

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str) -> float:
        return 1.5


@pytest.mark.parametrize("name", list(topics()))
def test_every_text_is_markup(name: str) -> None:
    topic = topics()[name]
    texts = [(name, item.sentence) for item in (*topic.stands, *topic.sharper)]
    for claim in topic.claims.values():
        found = [claim.statement, claim.hypotheses, claim.setting, claim.remark, claim.not_run, claim.open]
        found += [claim.correction.statement, claim.correction.ground] if claim.correction else []
        found += [filled(claim.fault.finding, Anything()), claim.fault.consequence] if claim.fault else []
        texts += [(claim.id, text) for text in found]
    try:
        typst.compile(
            ALL_AT_ONCE, ignore_system_fonts=True, sys_inputs={"texts": json.dumps([text for _, text in texts])}
        )
    except typst.TypstError:
        for claim, text in texts:
            try:
                compile_file(PROBE, {"markup": text})
            except typst.TypstError as error:
                pytest.fail(f"{claim}: {error}: {text}")
        raise


@pytest.mark.parametrize("name", list(topics()))
def test_what_a_topic_names_is_there(name: str) -> None:
    topic = topics()[name]
    panels = [panel.claim for figure in topic.figures for panel in figure.panels]
    named = [*panels, *(claim for item in (*topic.stands, *topic.sharper) for claim in item.claims)]
    named += [claim.fault.root for claim in topic.claims.values() if claim.fault and claim.fault.root]
    named += [topic.main_picture] if topic.main_picture else []
    assert {claim for claim in named if claim not in topic.claims} == set()
    assert len(set(panels)) == len(panels)
