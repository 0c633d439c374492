"""Proofs, controls, and the derivations that join proofs to a statement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpbounds import DomainError
from verify import proof_checker
from verify.checks import Agreement, Holds
from verify.checks.evidence import Evidence, weakest
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import LEMMAS, Derivation, check_derivation
from verify.statements.markup import check_compiled
from verify.statements.verdicts import decide

CHECK = Agreement(facts=lambda rng: [Holds("so", True)])
CHAIN = Derivation(text="By the identity.", lemmas=("Jensen", "induction"))


def found(how: str, role: str = "proof", outcome: str = "holds", clauses: str = "a") -> Evidence:
    return Evidence(outcome=outcome, how=how, summary="s.", role=role, clauses=clauses)  # type: ignore[arg-type]


def claim(*checks, derivation=CHAIN, **fields) -> Claim:
    settings = {"id": "a/one", "where": "here", "kind": "identity", "statement": "$x = x$."}
    return Claim(**{**settings, "checks": checks, "derivation": derivation, **fields})


def test_the_checker_knows_the_same_lemmas():
    assert {*proof_checker.LEMMAS.split(", ")} == {*LEMMAS, "conjunction"}


def test_controls_neither_lower_nor_raise_a_ground_but_refute():
    assert weakest([found("proved"), found("numeric", "control")]) == "proved"
    assert weakest([found("numeric"), found("proved", "control")]) == "numeric"
    whole = claim(CHECK, CHECK.as_control())
    verdict = decide(whole, [found("proved"), found("numeric", "control")], [])
    assert (verdict.word, verdict.how) == ("confirmed", "proved")
    assert verdict.derivation == "By the identity. (Jensen, induction)"
    assert [clause.how for clause in verdict.clauses] == ["proved"]
    broken = decide(whole, [found("proved"), found("numeric", "control", "fails")], [])
    assert (broken.word, broken.how, broken.derivation) == ("refuted", "numeric", "")


def test_a_correction_has_its_own():
    mended = Correction(statement="$x = x$.", checks=(CHECK, CHECK.as_control()), derivation=CHAIN)
    fault = Fault(severity="slip", touches="text", finding="F.", consequence="C.")
    both = claim(CHECK, derivation=None, correction=mended, fault=fault, page=1)
    verdict = decide(both, [found("numeric", outcome="fails")], [found("proved"), found("numeric", "control")])
    assert (verdict.word, verdict.how, verdict.derivation) == (
        "corrected",
        "proved",
        "By the identity. (Jensen, induction)",
    )


@pytest.mark.parametrize(
    ("checks", "derivation", "said"),
    [
        ((CHECK, CHECK.as_control()), None, "a proof without a derivation"),
        ((CHECK.as_control(),), CHAIN, "of clauses that a proof decides"),
        ((CHECK,), replace(CHAIN, lemmas=("Fermat",)), "lemmas of here = Fermat"),
        (
            (CHECK.deciding("a"), CHECK.deciding("b").as_control()),
            CHAIN,
            "clause b .*of clauses that a proof decides",
        ),
    ],
)
def test_what_joins_nothing_is_refused(checks, derivation, said):
    with pytest.raises(DomainError, match=said):
        check_derivation("here", derivation, checks)


def test_the_lemmas_are_typeset():
    check_compiled([("lemmas", name, text) for name, text in LEMMAS.items()])
