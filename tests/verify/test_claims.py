"""What every claim of the registry must keep."""

from __future__ import annotations

import pytest
import typst

from dpbounds import DomainError
from verify.checks import MonteCarlo
from verify.claims import registry, select
from verify.statistics import ALPHA, SUITE_ALPHA, TAIL_FACTOR

CLAIMS = registry()


def checks_of(claim):
    return [check for _, checks in claim.forms() for check in checks]


def test_ids_name_their_topic():
    assert all(claim.id.count("/") == 1 and claim.topic == "ftrl" for claim in CLAIMS.values())


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_what_is_said_to_hold_has_an_impostor(claim):
    if claim.reviewed in ("confirmed", "corrected") and claim.checks:
        assert any(check.impostors for check in checks_of(claim))
    assert (claim.reviewed == "corrected") == (claim.correction is not None)


def test_every_kind_of_check_has_three_impostors():
    counts: dict[str, int] = {}
    for claim in CLAIMS.values():
        for check in checks_of(claim):
            kind = type(check).__name__
            counts[kind] = counts.get(kind, 0) + len(check.impostors)
    assert all(count >= 3 for count in counts.values()), counts


def test_the_whole_suite_rarely_alarms():
    """Bonferroni over every comparison at the highest level."""
    comparisons = sum(
        len(check.cases()) for claim in CLAIMS.values() for check in checks_of(claim) if isinstance(check, MonteCarlo)
    )
    assert comparisons * ALPHA * TAIL_FACTOR <= SUITE_ALPHA


def test_statements_are_typst():
    texts = [
        text
        for claim in CLAIMS.values()
        for text in (claim.statement, claim.hypotheses, claim.correction.statement if claim.correction else "")
    ]
    source = "\n\n".join(texts)
    assert typst.compile(source.encode()).startswith(b"%PDF")


def test_select():
    assert select([]) == list(CLAIMS.values())
    assert [claim.id for claim in select(["ftrl/eq-14"])] == ["ftrl/eq-14"]
    with pytest.raises(DomainError, match=r"claim = ftrl/eq-1x .*did you mean"):
        select(["ftrl/eq-1x"])
