"""What every claim of the registry must keep."""

from __future__ import annotations

import pytest

from dpbounds import DomainError
from verify.checks import (
    Agreement,
    Audit,
    BoundedMean,
    Check,
    Frequency,
    GaussianPrivacy,
    Identity,
    Inequality,
    MonteCarlo,
    Quantiles,
    Rate,
    Search,
    Slopes,
    Survey,
    Symbolic,
    Unbounded,
)
from verify.checks.base import LEVELS
from verify.checks.statistics import SUITE_ALPHA
from verify.running.registry import ROOMS, select, topics
from verify.statements.claims import Claim
from verify.statements.clauses import whole
from verify.statements.topics import Highlight

CLAIMS = {claim.id: claim for claim in select([])}
KINDS = (
    *(Agreement, Audit, BoundedMean, Frequency, GaussianPrivacy, Identity, Inequality, MonteCarlo),
    *(Quantiles, Rate, Search, Slopes, Survey, Symbolic),
)


def checks_of(claim: Claim) -> list[Check]:
    return [check for _, checks in claim.forms() for check in checks]


def highlights() -> list[Highlight]:
    return [item for topic in topics().values() for item in (*topic.stands, *topic.sharper)]


def test_ids_name_their_topic():
    assert all(claim.id.count("/") == 1 for claim in CLAIMS.values())
    assert {claim.topic for claim in CLAIMS.values()} == set(ROOMS)


def test_what_is_ours_says_what_it_is_about():
    """ "Beyond the paper" alone names two hundred claims."""
    ours = [claim for claim in CLAIMS.values() if claim.where.lower().startswith("beyond the paper")]
    assert ours and all(claim.where[len("beyond the paper") :].startswith(": ") for claim in ours)


def test_checks_are_final():
    kinds = {type(check) for claim in CLAIMS.values() for check in checks_of(claim)}
    assert all(kind.__bases__ == (Check,) and kind.__final__ for kind in kinds | set(KINDS))


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_what_is_said_to_hold_has_an_impostor(claim):
    if claim.reviewed in ("confirmed", "corrected"):
        held = claim.correction.checks if claim.correction else claim.checks
        assert any(check.impostors for check in held)


def test_corrections_are_whole_sentences():
    for claim in CLAIMS.values():
        if claim.correction is not None:
            statement = whole(claim.correction.statement)
            assert statement.rstrip().endswith((".", "$", ")")), claim.id
            assert not statement[0].islower(), claim.id


def test_roots_are_claims_that_fall_themselves():
    """A root names a claim with a fault that has no root of its own."""
    for claim in CLAIMS.values():
        if claim.fault is not None and claim.fault.root:
            root = CLAIMS[claim.fault.root]
            assert root.fault is not None and not root.fault.root and root is not claim, claim.id


def test_every_paper_says_what_stands():
    for topic in topics().values():
        assert topic.stands and topic.sharper and topic.authors and topic.version
        assert CLAIMS[topic.main_picture]
    assert all(claim in CLAIMS for item in highlights() for claim in item.claims)
    assert all(item.claims for item in highlights())


def test_most_impostors_are_data():
    given = [
        value
        for claim in CLAIMS.values()
        for check in checks_of(claim)
        for one in check.impostors.values()
        for value in one.values()
    ]
    functions = [value for value in given if getattr(value, "__name__", "") == "<lambda>"]
    assert len(functions) < 0.25 * len(given), (len(functions), len(given))


def test_every_kind_of_check_has_three_impostors():
    """But a survey, and what only refutes: a wrong `Unbounded` is unclear, and no impostor that holds."""
    counts: dict[type, int] = {}
    for claim in CLAIMS.values():
        for check in checks_of(claim):
            counts[type(check)] = counts.get(type(check), 0) + len(check.impostors)
    assert all(count >= 3 for kind, count in counts.items() if kind not in (Survey, Unbounded)), counts


@pytest.mark.parametrize("level", LEVELS)
def test_the_whole_suite_rarely_alarms(level):
    """Bonferroni over every comparison of a run, all its looks together."""
    checks = [check for claim in CLAIMS.values() for check in checks_of(claim) if check.runs_at(level)]
    assert 0 < sum(check.false_alarms(level) for check in checks) <= SUITE_ALPHA


def test_select():
    assert select([]) == list(CLAIMS.values())
    assert [claim.id for claim in select(["ftrl/eq-14"])] == ["ftrl/eq-14"]
    with pytest.raises(DomainError, match=r"claim = ftrl/eq-1x .*did you mean"):
        select(["ftrl/eq-1x"])
    with pytest.raises(DomainError, match=r"claim = nothing .*a topic \(ftrl, iv, "):
        select(["nothing"])
