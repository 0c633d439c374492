"""Two runs beside one another: every change is told, what the seed explains is not, and bad input costs one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.comparing import Comparison, compare
from reports.reader import read
from tests.reports.examples import (
    claim,
    clause,
    corrected,
    evidence,
    failed,
    one_of_each,
    picture,
    series,
    simulated,
    slope,
    write,
)
from verify.cli import main

Data = dict[str, Any]


def compared(folder: Path, old: list[Data], new: list[Data], *names: str) -> Comparison:
    for name in ("old", "new"):
        (folder / name).mkdir(exist_ok=True)
    return compare(read(write(folder / "old", old)), read(write(folder / "new", new)), names)


def changes(folder: Path, old: Data, new: Data, name: str = "ftrl/thm-1") -> list[str]:
    return list(compared(folder, [old], [new]).changes.get(name, ()))


def of_rows(how: str, *rows: Data, seed: int = 0) -> Data:
    chance = {"alpha": 1e-9, "trials": 100} if how == "statistical" else {}
    return claim(evidence=[evidence(how=how, rows=list(rows), **chance)], seed=seed)


def test_the_same_results_are_not_changed(tmp_path: Path) -> None:
    found = compared(tmp_path, one_of_each(), one_of_each())
    assert list(found.lines()) == ["11 claims in both: 0 changed (0 in verdict), 11 not."]


def test_verdicts_grounds_and_what_falls_with_them(tmp_path: Path) -> None:
    old = [claim("ftrl/thm-2"), claim("ftrl/thm-3"), claim("ftrl/gone")]
    stronger = claim("ftrl/thm-3", evidence=[evidence(how="proved")])
    found = compared(tmp_path, old, [corrected(), stronger, claim("ftrl/new")])
    assert found.changes["ftrl/thm-2"] == [
        "verdict: confirmed, now corrected",
        "ground: numeric, now false: numeric; correction: proved",
        "the correction reads differently",
        "check 1 as printed: holds, numeric, now fails, numeric",
        "checks as corrected: 0, now 1; they were not compared",
    ]
    assert found.changes["ftrl/thm-3"] == [
        "ground: numeric, now proved",
        "check 1 as printed: holds, numeric, now holds, proved",
    ]
    assert (found.gone, found.new, found.both, found.verdicts) == (("ftrl/gone",), ("ftrl/new",), 2, 1)
    assert "Only in the old run: ftrl/gone." in list(found.lines())


def test_clauses(tmp_path: Path) -> None:
    checks = [evidence(), evidence(clauses="b")]
    old = claim(clauses=[clause("holds", "numeric"), clause("holds", "numeric", letter="b")], evidence=checks)
    new = claim(clauses=[clause("holds", "numeric"), clause("open", letter="b")], evidence=checks[:1])
    said = changes(tmp_path, old, new)
    assert "clause (b) as printed: holds, numeric, now open" in said and not any("(a)" in line for line in said)


FACT = {"fact": "theta_T", "difference": 1e-16, "tolerance": 1e-11}
MEAN = {"case": "eta = 0.1", "observed": 2.0, "low": 1.5, "high": 2.5, "predicted": 2.1, "trials": 100}


@pytest.mark.parametrize(
    ("how", "row", "change", "said"),
    [
        ("numeric", FACT, {"difference": 9e-12}, ""),  # rounding, within what the check allows
        ("numeric", FACT, {"difference": 2e-11}, "theta_T: difference: 1e-16, now 2e-11"),
        ("numeric", FACT, {"tolerance": 1e-10}, "theta_T: tolerance: 1e-11, now 1e-10"),
        ("certified", {"fact": "bound", "observed": 1.0}, {"observed": 1.0 + 1e-12}, ""),
        ("certified", {"fact": "bound", "observed": 1.0}, {"observed": 1.0 + 1e-6}, "bound: observed: 1, now 1.000001"),
        ("numeric", {"fact": "is so", "holds": True}, {"holds": False}, "is so: holds: 1, now 0"),
        ("numeric", {"power": "inf"}, {"power": 3.0}, "comparison 1: power: inf, now 3"),
        ("numeric", {"power": "inf"}, {"power": "-inf"}, "comparison 1: power: inf, now -inf"),
        ("numeric", {"power": "nan"}, {"power": "nan"}, ""),
        ("numeric", {"power": "nan"}, {"power": 0.0}, "comparison 1: power: nan, now 0"),
        ("statistical", MEAN, {"observed": 2.4, "low": 2.3, "high": 2.6, "trials": 200}, ""),
        ("statistical", MEAN, {"observed": 2.6, "low": 2.5, "high": 2.7}, ""),  # they touch
        (
            "statistical",
            MEAN,
            {"observed": 2.8, "low": 2.51, "high": 3.0},
            "eta = 0.1: observed: 2 in [1.5, 2.5], now 2.8 in [2.51, 3]",
        ),
        ("statistical", MEAN, {"predicted": 2.2}, "eta = 0.1: predicted: 2.1, now 2.2"),
        ("statistical", {"fact": "ratio", "observed": 2.0, "most": 3.0}, {"observed": 2.9}, ""),  # no interval
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_numbers(tmp_path: Path, how: str, row: Data, change: Data, said: str, seed: int) -> None:
    """Under another seed a numeric check looks elsewhere."""
    found = changes(tmp_path, of_rows(how, row), of_rows(how, {**row, **change}, seed=seed))
    expected = [f"check 1 as printed, {said}"] if said and not (seed and how == "numeric") else []
    assert found == expected


def test_numbers_are_told_apart_and_not_all_told(tmp_path: Path) -> None:
    old = [{"fact": "same name", "observed": float(k)} for k in range(9)]
    new = [{"fact": "same name", "observed": k + (0.5 if k > 2 else 0.0)} for k in range(9)]
    assert changes(tmp_path, of_rows("numeric", *old), of_rows("numeric", *new)) == [
        "check 1 as printed, same name: observed (4): 3, now 3.5",
        "check 1 as printed, same name: observed (5): 4, now 4.5",
        "check 1 as printed, same name: observed (6): 5, now 5.5",
        "check 1 as printed, 3 more numbers moved",
    ]
    assert changes(tmp_path, of_rows("numeric", *old), of_rows("numeric", *old[:7])) == [
        "check 1 as printed, other comparisons: 0 new, 2 no longer there"
    ]


def test_pictures_and_slack(tmp_path: Path) -> None:
    def drawn(factor: float, end: float, slack: float) -> Data:
        curves = picture(
            series(y=[2.0, 20.0, 200.0 * factor]),
            simulated(low=[1.5, 15.0, 150.0 * end], high=[2.5, 25.0, 250.0 * end]),
        )
        return claim(evidence=[evidence(picture=curves | {"slopes": [slope()]}, slack=slack)], slack=slack)

    assert changes(tmp_path, drawn(1, 1, 1.25), drawn(1, 1.5, 1.25)) == []
    assert changes(tmp_path, drawn(1, 1, 1.25), drawn(1.1, 2, 1.5)) == [
        "check 1 as printed, SGD, exact at 100: 200, now 220",
        "check 1 as printed, SGD, simulated at 100: 200 in [150, 250], now 200 in [300, 500]",
        "check 1 as printed, slack: 1.25, now 1.5",
    ]


def run(*words: str | Path) -> int:
    return main(["report", *map(str, words)])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 1 for another verdict, 0 for anything less."""
    (tmp_path / "old").mkdir()
    old = write(tmp_path / "old", [claim("ftrl/thm-2"), claim("iv/a")])
    new = write(tmp_path, [corrected(), claim("iv/a", seed=1)])
    assert run("--compare", old, new) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == ["ftrl/thm-2", "  verdict: confirmed, now corrected"]
    assert out[-2:] == [
        "1 claim with another seed: numbers of numeric checks were not compared.",
        "2 claims in both: 1 changed (1 in verdict), 1 not.",
    ]
    assert run("iv", "--compare", old, new) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 claim in both: 0 changed (0 in verdict), 1 not."


def test_bad_input_costs_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    places = {name: tmp_path / name for name in ("good", "full", "other", "damaged", "format", "rows")}
    for place in places.values():
        place.mkdir()
    good = write(places["good"], [claim(), failed_claim()])
    full = write(places["full"], [claim(level="full")])
    other = write(places["other"], [claim("iv/a")])
    damaged = write(places["damaged"], [claim()])
    damaged.write_text(damaged.read_text(encoding="utf-8").replace("129 points", "130 points"), encoding="utf-8")
    (places["format"] / "results.json").write_text('{"format": "dpbounds-results/4"}', encoding="utf-8")
    rows = write(places["rows"], [claim(evidence=[evidence(rows=[1])])])
    (tmp_path / "link.json").symlink_to(good)
    for wrong, said in {
        full: "ftrl/thm-1 was decided at level full, in",
        other: "have no claim in common",
        damaged: "checksum does not fit",
        places["format"] / "results.json": "format is 'dpbounds-results/4'",
        rows: "row 1: must be an object, not 1",
        good: "compared with itself",
        tmp_path / "link.json": "compared with itself",
        tmp_path / "none.json": "no such file",
    }.items():
        assert run("--compare", good, wrong) == 2, wrong
        out, error = capsys.readouterr()
        assert out == "" and said in error and error.count("\n") == 1, (said, error)
    for words, said in {
        ("--out", "x.pdf"): "--out = x.pdf is not allowed: it must be left out beside --compare",
        ("--summary",): "--summary = True is not allowed",
    }.items():
        assert run("--compare", good, good, *words) == 2
        assert said in capsys.readouterr().err
    assert run() == 2 and "--compare OLD NEW" in capsys.readouterr().err


def failed_claim() -> Data:
    return claim("ftrl/thm-3", verdict="refuted", finding="Violated.", evidence=[failed()])


def test_a_run_is_compared_with_itself_under_another_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What chance decides is not told."""
    claims = ["glm/lem-33-trace", "iv/fig-2", "ftrl/fig-1-mid"]
    for seed in ("0", "1"):
        assert main(["verify", *claims, "--seed", seed, "--jobs", "1", "--store", str(tmp_path / seed)]) == 0
    capsys.readouterr()
    assert run("--compare", tmp_path / "0" / "results.json", tmp_path / "1" / "results.json") == 0
    assert capsys.readouterr().out.endswith("3 claims in both: 0 changed (0 in verdict), 3 not.\n")
