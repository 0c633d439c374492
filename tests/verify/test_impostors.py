"""Impostors as data: a factor, or arguments, for the functions of a check."""

from __future__ import annotations

from tests.verify.judging import evidence_of
from verify.checks import Agreement, Fact, Identity, Inequality, Search, Times
from verify.checks.domains import Real


def test_an_impostor_may_be_a_factor_or_arguments():
    def sides(m, a, power=1):
        return a**power, 2 * a

    check = Inequality(
        smaller=lambda m, a, power=1: a**power,
        larger=lambda m, a: 2 * a,
        box={"a": Real(1.0, 3.0)},
        certify=False,
        impostors={
            "factor": {"larger": Times("0.499")},
            "power": {"smaller": {"power": 2}},
            "both": {"box": {"a": Real(5.0, 6.0)}, "smaller": Times(2.01)},
        },
    )
    assert evidence_of(check).outcome == "holds"
    assert all(evidence_of(check.impostor(name)).outcome == "fails" for name in check.impostors)


def test_times_multiplies_what_is_stated():
    facts = Agreement(
        facts=lambda rng, **_: iter([Fact("one", 1.0, 1.0), Fact("many", [1.0, 2.0], [1.0, 2.0])]),
        impostors={"": {"facts": Times(1.1)}},
    )
    assert evidence_of(facts).outcome == "holds" and evidence_of(facts.impostor("")).outcome == "fails"
    search = Search(sides=lambda a: (a, 1.5 * a), box={"a": Real(1.0, 2.0)}, impostors={"": {"sides": Times(1, 0.6)}})
    assert evidence_of(search).outcome == "holds" and evidence_of(search.impostor("")).outcome == "fails"
    exact = Identity(
        left=lambda m, a: a,
        right=lambda m, a: a,
        box={"a": Real(1.0, 2.0)},
        impostors={"": {"right": Times("1." + "0" * 39 + "1")}},
    )
    assert evidence_of(exact).outcome == "holds" and evidence_of(exact.impostor("")).outcome == "fails"
