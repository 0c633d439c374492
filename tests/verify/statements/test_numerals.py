"""Numbers that may not be typed."""

from __future__ import annotations

import pytest

from dpbounds import DomainError
from verify.statements.numerals import check_typed, typed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is $1.27$ times more.", ["1.27"]),
        ("At $n = 100$, $p = 11$.", ["100", "11"]),
        ("3 % of 12,000", ["12,000"]),
        ("$2.0$ is not 2", ["2.0"]),
        ("$10^(-3) dot 4.5$", ["4.5"]),
        ("It is ${ratio:2}$, at least $1.5$", ["1.5"]),
    ],
)
def test_what_only_evidence_tells_is_found(text, found):
    assert typed(text) == found
    with pytest.raises(DomainError, match=f"= {found[0]} is not allowed"):
        check_typed("remark of x", text)


@pytest.mark.parametrize(
    "text",
    [
        "At most 10 of $2 k + 3$.",
        "$x^(15) + y_12 + e^(-(1.5 + t))$",
        "By Theorem 12 and (137), Lemmas C.15 to C.17, eq. (66a), page 31, Figure 2.",
        "It is ${ratio:2}$ for $n = {n}$.",
        "l2 and k_max",
        "As in warner/eq-18 and mine/thm-3.1-term3.",
    ],
)
def test_what_may_be_typed(text):
    check_typed("remark of x", text)


def test_what_the_statement_prints_may_be_said_again():
    assert typed("$0.78$, not $0.87$", "It is $0.78$.") == ["0.87"]
