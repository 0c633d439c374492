"""`dpbounds verify --export`: what CI systems read."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.verify.cli.commands import dpbounds
from verify.cli import export, main
from verify.running.runner import Decision
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.verdicts import Verdict

FAULT = Fault(severity="hypothesis", touches="statement", finding="It is $rho^2$.", consequence="The bound falls.")


def decided(name: str, word: str, *, failure: str = "", **verdict: object) -> Decision:
    own = {"corrected": Correction(statement="For $T >= 2$, $rho$.", checks=())} if word == "corrected" else {}
    claim = Claim(
        id=f"ftrl/{name}",
        where="Theorem 1",
        page=3,
        equation="(7)",
        kind="identity",
        statement="$a^2 = b$.",
        not_run="no data",
        correction=own.get("corrected"),
        fault=FAULT if own else None,
    )
    return Decision(claim=claim, verdict=Verdict(word=word, **verdict), seconds=1.25, failure=failure)  # pyright: ignore


ALL = (
    decided("a", "confirmed", how="proved", remark="For $a > 0$."),
    decided("b", "corrected", finding="It is $rho^2$.", severity="hypothesis", correction="For $T >= 2$, $rho$."),
    decided("c", "refuted", finding="It is $rho^2$ < 3 \0.", severity="substantive", consequence="All falls."),
    decided("d", "undecided", finding="5000 trials"),
    decided("e", "not run", finding="no data"),
    decided("f", "undecided", failure="Traceback: boom"),
    decided("g", "refuted", finding="New."),
)


def test_junit_fails_what_is_refuted_and_skips_what_is_open() -> None:
    root = ElementTree.fromstring(export.junit(ALL, 4).split("\n", 1)[1])
    (suite,) = root
    counts = {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped", "time")}
    assert counts == {"name": "ftrl", "tests": "7", "failures": "2", "errors": "1", "skipped": "2", "time": "8.750"}
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {
        "ftrl/a": [],
        "ftrl/b": ["system-out"],
        "ftrl/c": ["failure"],
        "ftrl/d": ["skipped"],
        "ftrl/e": ["skipped"],
        "ftrl/f": ["error"],
        "ftrl/g": ["failure"],
    }
    (failure, new) = suite.iter("failure")
    assert failure.get("type") == "substantive"
    assert failure.get("message") == "Theorem 1: refuted. It is ρ² < 3 \ufffd. All falls."
    assert new.get("type") == "new"


def test_sarif_says_what_each_claim_is() -> None:
    content = json.loads(export.sarif(ALL, 4))
    assert content["version"] == "2.1.0"
    (run,) = content["runs"]
    shown = {result["ruleId"]: (result["kind"], result["level"]) for result in run["results"]}
    assert shown == {
        "ftrl/a": ("pass", "none"),
        "ftrl/b": ("pass", "none"),
        "ftrl/c": ("fail", "error"),
        "ftrl/d": ("open", "none"),
        "ftrl/e": ("notApplicable", "none"),
        "ftrl/f": ("open", "none"),
        "ftrl/g": ("fail", "error"),
    }
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [item.claim.id for item in ALL]
    assert run["results"][1]["message"]["text"].endswith("It is ρ². Corrected: For T ≥ 2, ρ.")
    assert not run["invocations"][0]["executionSuccessful"]
    assert run["results"][2]["properties"]["equation"] == "(7)"


def test_verify_writes_both(tmp_path: Path) -> None:
    asked = ("ftrl/fig-4", "--jobs", "1", "--export", "junit", "a.xml", "--export", "sarif", "a.sarif")
    shown = dpbounds("verify", *asked, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    suites = ElementTree.fromstring((tmp_path / "a.xml").read_text())
    assert [case.get("name") for case in suites.iter("testcase")] == ["ftrl/fig-4"]
    (result,) = json.loads((tmp_path / "a.sarif").read_text())["runs"][0]["results"]
    assert (result["ruleId"], result["kind"]) == ("ftrl/fig-4", "notApplicable")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--export", "xml", "a.xml"], "'xml' is not one of junit, sarif"),
        (["--export", "junit", "nowhere/a.xml"], "export = nowhere/a.xml is not allowed"),
        (["--export", "junit", "."], "export = . is not allowed"),
        (["--export", "junit", "a.xml", "--impostors"], "left out with --shard and --impostors"),
        (["--export", "junit", "a.xml", "--shard", "0/2"], "left out with --shard and --impostors"),
    ],
)
def test_what_cannot_be_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], asked: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        status = main(["verify", "ftrl/fig-4", *asked])
    except SystemExit as exit_:
        status = exit_.code
    assert status == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
