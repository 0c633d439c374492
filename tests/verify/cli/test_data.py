"""The user's own data set: its numbers, kept apart from those of other data, and refused where it will not do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from linearmodels.iv import IV2SLS

from tests.verify.cli.commands import fresh

FILE = "angrist-evans-1980-sample.csv"
FIGURE = ("verify", "iv/fig-10", "--jobs", "1")


def census(folder: Path, *, effect: float, last: str = "") -> float:
    """Write 8065 records whose third child takes `-effect` weeks of work; returns 2SLS by linearmodels, no constant
    where all is centred.
    """
    rng = np.random.default_rng(0)
    same, first = rng.random(8065) < 0.5, rng.random(8065) < 0.5
    more = rng.random(8065) < np.where(same, 0.42, 0.36)
    work = np.round(22 + effect * more + 3 * rng.standard_normal(8065), 2)
    sex = np.array(["female", "male"])
    columns = (np.array(["no", "yes"])[more * 1], sex[first * 1], sex[(first == same) * 1], work.astype(str))
    rows = [",".join(row) for row in zip(*columns, strict=True)]
    folder.mkdir()
    (folder / FILE).write_text("\n".join(["morekids,gender1,gender2,work", *rows[:-1], last or rows[-1]]))
    z, x, y = (values.astype(float) - values.mean() for values in (same, more, work))
    return float(IV2SLS(y, None, x, z).fit().params.iloc[0])


def two_stage_estimate(folder: Path) -> tuple[float, list[str]]:
    """The line of 2SLS in the picture of Figure 10, and what the curves are called."""
    (entry,) = json.loads((folder / "dpbounds-results" / "results.json").read_text())["claims"]
    pictures = [evidence["picture"] for evidence in entry["evidence"] if evidence["picture"]]
    series = [line for picture in pictures for line in picture["series"]]
    (height,) = {y for line in series if line["curve"].startswith("2SLS") for y in line["y"]}
    return height, [line["curve"] for line in series]


def test_results_on_other_data_are_other_results(tmp_path):
    """Two data sets and the surrogate in one store, the first taken up again by --resume as it was."""
    expected = {name: census(tmp_path / name, effect=effect) for name, effect in (("one", -4.0), ("two", -9.0))}
    for name in ("one", "two", "", "one"):
        fresh(*FIGURE, "--resume", *(("--data-dir", name) if name else ()), cwd=tmp_path)
        height, labels = two_stage_estimate(tmp_path)
        assert height == pytest.approx(expected.get(name, -4.3), rel=1e-9)
        assert any(("census extract" if name else "surrogate") in label for label in labels)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("yes,male,male,often", ["line 8066, column work = often", "finite number"]),
        ("yes,male,male,", ["line 8066, column work = nothing", "drop the record"]),
        ("yes,boy,male,3", ["line 8066, column gender1 = boy", "male or female"]),
    ],
)
def test_data_that_will_not_do_is_one_clear_line_and_status_2(tmp_path, last, words):
    census(tmp_path / "data", effect=-4.0, last=last)
    shown = fresh(*FIGURE, "--data-dir", "data", cwd=tmp_path)
    assert (shown.returncode, shown.stdout) == (2, "") and shown.stderr.count("\n") == 1, shown
    assert all(word in shown.stderr for word in words), shown.stderr


def test_missing_columns_and_missing_files(tmp_path):
    (tmp_path / FILE).write_text("morekids,gender1,work\nyes,male,3\n")
    shown = fresh(*FIGURE, "--data-dir", ".", cwd=tmp_path)
    missing = f"column = gender2 is not allowed: it must be a column of {FILE}"
    assert shown.returncode == 2 and missing in shown.stderr and shown.stderr.count("\n") == 1
    (tmp_path / FILE).unlink()
    shown = fresh(*FIGURE, "--data-dir", ".", cwd=tmp_path)
    assert shown.returncode == 2 and shown.stderr.startswith("dpbounds: data_dir = ") and FILE in shown.stderr
    assert fresh("verify", "iv/def-2.1", "--data-dir", ".", cwd=tmp_path).returncode == 0
