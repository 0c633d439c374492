"""The order of findings: by severity, then by root."""

from __future__ import annotations

from pathlib import Path

from reports.findings import findings, grounds_of, numbers
from tests.reports.examples import claim, corrected, evidence, failed, results


def ordered(folder: Path, *claims: dict) -> list[tuple[int, str, list[str]]]:
    found = findings(results(folder, list(claims)).entries)
    return [(item.number, item.entry.claim, [entry.claim for entry in item.followers]) for item in found]


def test_the_serious_comes_first_and_the_new_before_all(tmp_path: Path) -> None:
    new = claim("a/new", verdict="refuted", evidence=[failed()])
    claims = [corrected(f"a/{name}", severity=name) for name in ("slip", "hypothesis", "substantive")]
    shown = ordered(tmp_path, *claims, claim("a/right"), new)
    assert shown == [(1, "a/new", []), (2, "a/substantive", []), (3, "a/hypothesis", []), (4, "a/slip", [])]


def test_what_follows_stands_under_its_root(tmp_path: Path) -> None:
    claims = (
        corrected("a/third", root="a/second", severity="substantive"),
        corrected("a/second", root="a/first"),
        corrected("a/first", severity="slip"),
    )
    assert ordered(tmp_path, *claims) == [(1, "a/first", ["a/third", "a/second"])]
    found = findings(results(tmp_path, list(claims)).entries)
    assert numbers(found) == {"a/first": 1, "a/second": 1, "a/third": 1}


def test_a_root_that_is_not_false_here_is_none(tmp_path: Path) -> None:
    assert ordered(tmp_path, corrected("a/x", root="a/y"), claim("a/y")) == [(1, "a/x", [])]
    assert ordered(tmp_path, corrected("a/x", root="b/gone")) == [(1, "a/x", [])]


def test_roots_in_a_circle_lose_nobody(tmp_path: Path) -> None:
    circle = [corrected("a/x", root="a/y"), corrected("a/y", root="a/x"), corrected("a/z", root="a/x")]
    shown = ordered(tmp_path, *circle, corrected("a/own", root="a/own"))
    named = [claim for _, head, followers in shown for claim in (head, *followers)]
    assert sorted(named) == ["a/own", "a/x", "a/y", "a/z"]


def test_a_correction_has_two_grounds(tmp_path: Path) -> None:
    """The refutation's is the strongest of what fails as printed, whatever else was tried."""
    found = [failed(how="statistical", alpha=1e-9), failed(how="certified"), evidence(how="proved")]
    mended = corrected("a/x", evidence=[*found, evidence(form="corrected", how="statistical", alpha=1e-9)])
    (entry,) = results(tmp_path, [mended]).entries
    assert grounds_of(entry) == "false: certified; correction: statistical"
    wrong, right = results(tmp_path, [claim("a/x", verdict="refuted", evidence=[failed()]), claim("a/y")]).entries
    assert (grounds_of(wrong), grounds_of(right)) == ("numeric", "numeric")
