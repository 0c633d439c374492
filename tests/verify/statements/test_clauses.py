"""Statements clause by clause."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dpbounds import DomainError
from verify.checks import Agreement, Holds
from verify.statements import clauses

CHECK = Agreement(facts=lambda rng: [Holds("so", True)])


def test_clauses_are_lettered_where_there_are_several():
    assert clauses.whole("One.") == "One."
    assert clauses.whole(("One.", "Two.")) == "(a) One. (b) Two."


@pytest.mark.parametrize("text", ["One. Two.", "One; two.", "One! Two.", "$a$. $b$."])
def test_a_clause_is_one_sentence(text):
    with pytest.raises(DomainError, match="one sentence a clause"):
        clauses.check_clauses("statement", text, [CHECK])


@pytest.mark.parametrize(
    "text",
    ["One.", "By eq. (3), i.e. the sum.", "$1. 2; 3$ and more.", "With 1.5 of it.", "One (two; three. Four) five."],
)
def test_what_ends_no_clause(text):
    clauses.check_clauses("statement", text, [CHECK])


@pytest.mark.parametrize("letters", ["", "c", "abc"])
def test_every_check_names_clauses_that_there_are(letters):
    with pytest.raises(DomainError, match="letters of ab"):
        clauses.check_clauses("statement", ("One.", "Two."), [replace(CHECK, decides=letters)])
    clauses.check_clauses("statement", ("One.", "Two."), [replace(CHECK, decides="b")])
    clauses.check_clauses("statement", "One.", [CHECK])


def test_there_is_a_clause():
    with pytest.raises(DomainError, match="1 to 26 clauses"):
        clauses.check_clauses("statement", (), [CHECK])
