"""What every claim of the registry must keep."""

from __future__ import annotations

import pytest
import typst

from dpbounds import DomainError
from verify.checks import Audit, Check, Frequency, MonteCarlo, Quantiles
from verify.claims import TOPICS, registry, select
from verify.statistics import ALPHA, SUITE_ALPHA, TAIL_FACTOR

CLAIMS = registry()


def checks_of(claim):
    return [check for _, checks in claim.forms() for check in checks]


def test_ids_name_their_topic():
    assert all(claim.id.count("/") == 1 for claim in CLAIMS.values())
    assert {claim.topic for claim in CLAIMS.values()} == set(TOPICS)


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


def false_alarms(check: Check) -> float:
    """At most this probability, at the highest level."""
    if isinstance(check, MonteCarlo):
        return len(check.cases()) * ALPHA * TAIL_FACTOR
    if isinstance(check, Quantiles):
        return len(check.readings()) * ALPHA
    if isinstance(check, Frequency):
        return len(check.events()) * ALPHA
    return ALPHA if isinstance(check, Audit) else 0.0


def test_the_whole_suite_rarely_alarms():
    """Bonferroni over every comparison at the highest level."""
    assert 0 < sum(false_alarms(check) for claim in CLAIMS.values() for check in checks_of(claim)) <= SUITE_ALPHA


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
