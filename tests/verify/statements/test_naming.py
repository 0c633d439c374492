"""Claims by the names that people give them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dpbounds import DomainError
from verify.cli import main
from verify.running.registry import resolve, spread, topics
from verify.statements.claims import Claim
from verify.statements.naming import joined, matching


def claim(own: str, where: str, equation: str = "") -> Claim:
    return Claim(id=f"a/{own}", where=where, equation=equation, kind="identity", statement="$a$.", not_run="an example")


PAPER = [
    claim("thm-2.1-rate", "Theorem 2.1"),
    claim("thm-2.1-opt", "App. B, below (19)"),
    claim("thm-2.2", "Theorem 2.2, Table 3"),
    claim("thm-2.10", "Theorem 2.10"),
    claim("prop-c.1", "App. C.1, Property C.1"),
    claim("prop-c.10", "App. C.2, Proposition C.10"),
    claim("lem-c.12a", "App. C.2.3, Lemma C.12 (a)"),
    claim("lem-c.12b", "App. C.2.3, Lemma C.12 (b)"),
    claim("lem-c.12-line", "App. C.7, proof of Lemma C.12 (b)"),
    claim("fig-3a", "Figure 3(a), Section 4.1"),
    claim("rem-3.7b", "Remark 3.7"),
    claim("eq-7", "Section 2.2", "(7), (8)"),
    claim("range", "Property D.2, (66) to (69)"),
    claim("two", "Sections 2.2 and 4.1"),
    claim("abstract", "Abstract"),
]


@pytest.mark.parametrize(
    ("names", "own"),
    [
        (["Theorem 2.1", "thm 2.1", "Thm. 2.1", "THEOREM 2.1", "theorem  2.1"], ["thm-2.1-rate", "thm-2.1-opt"]),
        (["thm-2.1"], ["thm-2.1-rate", "thm-2.1-opt"]),
        (["thm-2.1-", "thm-2.1-*"], ["thm-2.1-rate", "thm-2.1-opt"]),
        (["thm-2.2", "Theorem 2.2", "THM-2.2"], ["thm-2.2"]),
        (["thm-2.1?"], ["thm-2.10"]),
        (["Property C.1"], ["prop-c.1"]),
        (["Prop. C.1"], ["prop-c.1"]),
        (["Proposition C.10", "Prop C.10"], ["prop-c.10"]),
        (["Lemma C.12"], ["lem-c.12a", "lem-c.12b", "lem-c.12-line"]),
        (["Lemma C.12(a)", "lemma c.12 (a)", "Lemma C.12a"], ["lem-c.12a"]),
        (["proof of Lemma C.12"], ["lem-c.12-line"]),
        (["Fig. 3", "figure 3", "Fig 3(a)", "Figure 3a"], ["fig-3a"]),
        (["Remark 3.7b"], ["rem-3.7b"]),
        (["eq. (7)", "Equation 7", "(7)", "eq 8"], ["eq-7"]),
        (["(68)"], ["range"]),
        (["Section 4.1", "Sec. 4", "§4"], ["fig-3a", "two"]),
        (["App. C"], ["prop-c.1", "prop-c.10", "lem-c.12a", "lem-c.12b", "lem-c.12-line"]),
        (["Table 3"], ["thm-2.2"]),
        (["abstract"], ["abstract"]),
        (["Theorem 2", "Lemma 2.1", "Property C.10", "(70)", "", "t", "paper", "row 1", "Theorem"], []),
    ],
)
def test_names(names, own):
    for name in names:
        assert [found.id.partition("/")[2] for found in matching(name, PAPER)] == own, name


def test_words_of_a_command_line():
    assert joined(["Theorem", "2.1", "iv/Lemma", "D.4", "ftrl", "eq.", "(7)"]) == [
        "Theorem 2.1",
        "iv/Lemma D.4",
        "ftrl",
        "eq. (7)",
    ]
    assert joined(["ftrl", "iv"]) == ["ftrl", "iv"] and joined(["2.1", "Theorem"]) == ["2.1", "Theorem"]


def test_every_claim_is_found_by_each_place_that_it_names():
    """All numbered places in all papers, as printed."""
    kinds = "Theorem|Lemma|Proposition|Property|Corollary|Remark|Definition|Figure|Table|Algorithm"
    for topic in topics().values():
        named: dict[str, set[str]] = {}
        for found in topic.claims.values():
            for place in re.findall(rf"(?:{kinds}) [A-Z]?\.?\d+(?:\.\d+)*", found.where):
                named.setdefault(place, set()).add(found.id)
        for place, ids in named.items():
            assert ids <= {found.id for found in matching(place, topic.claims.values())}, place


def test_several_papers_are_taken_and_said():
    (sentence,) = spread(resolve(["Fig. 3"]))
    assert re.match(r"'Fig\. 3' means \d+ of ftrl, \d+ of iv.*; ftrl/Fig\. 3 would be those of one paper", sentence)
    assert spread(resolve(["iv/Fig. 3", "ftrl/thm-2.1-opt"])) == []


@pytest.mark.parametrize(("name", "near"), [("Theorem 2.9", "Theorem 2"), ("ftrl/thm-2.1-optt", "thm-2.1-opt")])
def test_a_name_that_means_nothing_gets_the_nearest(name, near):
    with pytest.raises(DomainError, match=f"did you mean .*{near}"):
        resolve([name])


def test_the_journey_of_a_referee(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def said(*words: str) -> tuple[int, str]:
        status = main(words)
        return status, "".join(capsys.readouterr())

    status, shown = said("list", "Theorem", "2.2")
    assert status == 0 and "ftrl/thm-2.2-nu, Theorem 2.2" in shown and shown.count("States:") >= 3
    status, shown = said("verify", "ftrl/thm-2.1-[no]*", "--jobs", "1")
    assert status == 0 and "2 claims" in shown
    status, shown = said("report", "Theorem 2.2", "--out", "a.pdf")
    assert status == 2 and "run `dpbounds verify 'Theorem 2.2'` first" in shown
    status, shown = said("report", "Theorem", "2.1", "--out", "a.pdf")
    assert status == 0 and "(claims: 2)" in shown
