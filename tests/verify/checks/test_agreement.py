"""What an agreement says of its facts: how many of which kinds, and each in a line."""

from __future__ import annotations

from dpbounds import DomainError
from tests.verify.judging import evidence_of
from verify.checks import Agreement, Fact, Holds, Within, refused, taken

EXACT = Fact("two", 2, 2, tolerance=0)
CLOSE = Fact("a root", 1.41421356, 2**0.5, tolerance=1e-6)
EQUAL = Fact("one", 1.0, 1.0)
RANGED = Within("a ratio", 1.5, 1.0, 2.0)
BELOW = Within("an error", 0.1, most=0.2)
TRUE = Holds("it falls", True)


def found(*facts):
    return evidence_of(Agreement(facts=lambda rng: facts))


def test_every_fact_is_told_by_what_it_says():
    assert found(EXACT, CLOSE, EQUAL, RANGED, BELOW, TRUE).facts == [
        "two: equal exactly.",
        "a root: difference 1.7e-09, allowed 1.0e-06.",
        "one: no difference, allowed 1.0e-12.",
        "a ratio: 1.5, stated at least 1 and at most 2.",
        "an error: 0.1, stated at most 0.2.",
        "it falls.",
    ]


def test_the_summary_counts_the_kinds():
    assert found(EXACT, EXACT).summary == "2 comparisons agree (exactly)."
    assert found(TRUE).summary == "1 statement true."
    mixed = found(CLOSE, EQUAL, RANGED, BELOW, TRUE, TRUE).summary
    worst = "worst difference 1.7e-09, allowed up to 1.0e-06"
    assert mixed == f"2 comparisons agree ({worst}), 2 numbers in the range stated, 2 statements true."


def test_what_is_not_so_is_told_too():
    broken = found(TRUE, Holds("it rises", False), Within("a ratio", 3.0, most=2.0), Fact("one", 1.5, 1.0))
    assert broken.outcome == "fails" and broken.summary == "Not so: it rises."
    assert broken.facts == [
        "it falls.",
        "Not so: it rises.",
        "a ratio: 3, stated at most 2.",
        "one: observed 1.5, stated 1.",
    ]


def test_a_refusal_names_its_parameter():
    def call() -> None:
        raise DomainError("n", 0, "at least 1")

    assert [refused("n = 0", name, call).truth for name in ("n", "m")] == [True, False]
    assert [taken("a call", made).truth for made in (call, int)] == [False, True]
    assert not refused("a call", "n", int).truth
