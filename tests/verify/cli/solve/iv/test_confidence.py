"""`dpbounds solve iv --confidence`: what it releases against plain computation, and what it says."""

from __future__ import annotations

import json
import math
import tracemalloc

import numpy as np
import pytest

from dpbounds.iv.confidence import MomentRelease, PrivacyBudget, ReleasePlan, confidence_set, expected_prices
from dpbounds.private import InstrumentalVariables
from tests.verify.cli.solve.iv.confidence import (
    EFFECT,
    MEANS,
    NAMES,
    RANGES,
    SIGNS,
    STRETCH,
    data,
    row_of,
    solve,
    written,
)
from verify.running.store import strict


def anderson_rubin_set(Z: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """By its definition on a grid: where g'(sum (z e)(z e)')^{-1} g <= 5.991, moments not centred."""
    kept = []
    for beta in np.linspace(-10, -2, 801):
        rows = Z * (y - beta * x)[:, None]
        g = rows.sum(axis=0)
        if g @ np.linalg.solve(rows.T @ rows, g) <= 5.991464547107979:
            kept.append(beta)
    return kept[0], kept[-1]


def test_without_privacy_it_is_the_textbook_set(capsys, file):
    values = data().astype(float)
    row = row_of(capsys, file, *MEANS, "--public", "--clamping", "natural")
    Z, x, y = values[:, :2] - [0.5, 0.4], values[:, 2] - 0.5, values[:, 3] - 26
    low, high = anderson_rubin_set(Z, x, y)
    assert row["public"]["pieces"][0] == pytest.approx([low, high], abs=0.0101)
    cells = row_of(capsys, file, "--controls", "W", "--public", "--clamping", "natural")
    centred = values.copy()
    for w in range(3):
        inside = values[:, 4] == w
        centred[inside] -= values[inside].mean(axis=0)
    low, high = anderson_rubin_set(centred[:, :2], centred[:, 2], centred[:, 3])
    assert cells["public"]["pieces"][0] == pytest.approx([low, high], abs=0.0101)


def test_the_budget_is_what_was_asked_for(capsys, file):
    """Gaussian parts of known sensitivity: their mu² = sensitivity² / noise² add up, on the worst pair of records."""
    row = row_of(capsys, file, "--controls", "W", "--adjacency", "zero-out", "--seed", 1)
    assert math.fsum((part["sensitivity"] / part["noise_sd"]) ** 2 for part in row["budget"]) == pytest.approx(
        row["mu"] ** 2, rel=1e-12
    )
    row = row_of(capsys, file, *MEANS, "--seed", 1, "--clamping", "natural")
    first, second = row["budget"]
    t = np.linspace(-1, 1, 20001)
    worst = 2 * (1 - t) / first["noise_sd"] ** 2 + 2 * (1 - t**2) / second["noise_sd"] ** 2
    assert worst.max() == pytest.approx(row["mu"] ** 2, rel=1e-9)


def test_no_record_is_longer_than_the_noise_is_made_for(file, monkeypatch, capsys):
    """Whatever the file holds, every vector that is summed has norm 1 at most."""
    from simulators.sources import GaussianSource

    seen, gram = [], GaussianSource.gram

    def watched(self, rows):
        seen.append(float(np.linalg.norm(rows, axis=0).max()))
        return gram(self, rows)

    monkeypatch.setattr(GaussianSource, "gram", watched)
    wild = data(400).astype(float) * [3, 5, 1, 1, 1]
    file = written(file.parent, wild, "wild.csv")
    for options in (MEANS, ("--controls", "W"), ("--instrument-bound", 0.3), ("--beta", 100)):
        solve(capsys, file, *options, "--seed", 1)
    wild = data(400).astype(float) * [1, 1, -7, 100, 1]
    file = written(file.parent, wild, "wild.csv")
    for options in ((), ("--instrument-means", "A=0.5")):
        solve(capsys, file, *STRETCH, "--regressor-clamped", *options, "--epsilon", 9, "--seed", 1)
    assert len(seen) == 6 and max(seen) <= 1 + 1e-12 and min(seen) > 0.1


def test_a_seed_gives_the_same_numbers_and_none_gives_others(capsys, file):
    assert row_of(capsys, file, "--seed", 5) == row_of(capsys, file, "--seed", 5)
    first, second = (row_of(capsys, file) for _ in range(2))
    assert first["private"] and first["seed"] is None
    assert first["release"]["first"] != second["release"]["first"]


def test_the_status_is_said_and_nothing_without_noise_is_printed(capsys, file):
    released = solve(capsys, file).out
    assert released.startswith("PRIVATE RELEASE with (1, 1e-06)-differential privacy")
    assert "spends the budget again" in released and "without privacy " not in released
    seeded = solve(capsys, file, "--seed", 3).out
    assert seeded.startswith("NOT PRIVATE") and "--seed 3" in seeded and "without privacy " not in seeded
    public = solve(capsys, file, "--public").out
    assert public.startswith("NOT PRIVATE") and "without privacy" in public
    for row in (row_of(capsys, file), row_of(capsys, file, "--seed", 3)):
        assert "public" not in row


def test_sets_lie_around_that_without_privacy(capsys, file):
    """Seeded releases of one data set hold its own point estimate; the ratio of lengths is near the predicted one."""
    rows = [row_of(capsys, file, *MEANS, "--clamping", "natural", "--epsilon", 3, "--seed", s) for s in range(12)]
    truth = row_of(capsys, file, *MEANS, "--clamping", "natural", "--public")["public"]
    held = sum(any(low <= truth["point"] <= high for low, high in row["pieces"]) for row in rows)
    assert held >= 10
    ratios = [row["length"] / truth["length"] for row in rows]
    assert np.median(ratios) == pytest.approx(np.median([row["length_ratio"] for row in rows]), rel=0.1)


def test_the_whole_line_is_an_answer_that_says_why(capsys, file):
    options = ("--epsilon", 0.1, "--level", 0.999, "--instruments", "B", "--adjacency", "replace-one", "--seed", 2)
    shown = solve(capsys, file, *options)
    assert shown.status == 0
    for words in ("line", "That is an answer", "Why: the private first stage is F", "length ratio"):
        assert words in shown.out
    row = row_of(capsys, file, *options)
    assert row["shape"] == "line" and row["pieces"] == [["-inf", "inf"]]


def test_files(capsys, file, tmp_path):
    row = row_of(capsys, file, "--seed", 1, "--save", tmp_path / "set.json", "--plot", tmp_path / "set.svg")
    assert json.loads((tmp_path / "set.json").read_text()) == [row]
    assert b"without privacy" not in (tmp_path / "set.svg").read_bytes()
    assert (tmp_path / "set.svg").read_bytes().startswith(b"<?xml")


def test_signs(capsys, file):
    options = ("--instruments", "A", "--design", "s", "--grid=-20:10:200", "--instrument-means", "A=0.5", "--bounds")
    row = row_of(capsys, file, *options, "D=0:40", "C=0:1", "--epsilon", 3, "--public")
    low, high = row["pieces"][0]
    assert row["coverage"] == "exact" and low <= EFFECT + 1 and high >= EFFECT - 1 and row["length_ratio"] < 1.2
    values = data().astype(float)
    z, e = values[:, 0] - 0.5, values[:, 3] - 20 - EFFECT * (values[:, 2] - 0.5)
    grid = np.linspace(-20, 10, 200)
    place = int(np.argmin(np.abs(grid - EFFECT)))
    e = values[:, 3] - 20 - grid[place] * (values[:, 2] - 0.5)
    curve = np.array(row["release"]["curve"])
    assert abs(curve[place] - (z * np.where(e >= 0, 1, -1)).sum()) < 8 * row["budget"][0]["noise_sd"]


def test_blocks(capsys, file):
    row = row_of(capsys, file, *MEANS, "--design", "h", "--public", "--epsilon", 3)
    assert row["release"]["kind"] == "BlockRelease" and row["shape"] == "interval"
    assert "heteroskedasticity" in solve(capsys, file, *MEANS, "--design", "h", "--seed", 1).out


def test_clipped_residuals(capsys, file):
    """Outcomes beyond a working range: the set stretches, what is assumed is said, beside it the raw records' set."""
    options = (*STRETCH, "--bounds", "D=10:30", "C=0:1", "--epsilon", 3)
    row = row_of(capsys, file, *options, "--public")
    values = data().astype(float)
    z, x, y = values[:, 0] == 1, values[:, 2], values[:, 3]
    wald = (y[z].mean() - y[~z].mean()) / (x[z].mean() - x[~z].mean())
    assert row["public"]["point"] == pytest.approx(wald, rel=1e-9)
    assert 0.2 < row["rho_least"] < row["rho_most"] <= 1 and row["clamping"] == "stretch"
    low, high = row["pieces"][0]
    assert low < wald < high
    inner = row["release"]["shift"]
    plain = {name: np.array(v) if isinstance(v, list) else v for name, v in row["release"].items()}
    names = ("kind", "shift", "clip", "counts")
    kept = MomentRelease(**{name: value for name, value in plain.items() if name not in names})
    left, right = (inner + float(end) for end in confidence_set(kept, 0.955).pieces[0])
    assert low <= left + 1e-9 and right <= high + 1e-9
    shown = solve(capsys, file, *options, "--public").out
    for words in ("no budget is spent", "are clipped at", "independent of the errors", "at most 3 times the mean one"):
        assert words in " ".join(shown.split()), words
    assert sum(part["mu"] ** 2 for part in row["budget"] if part["mu"]) == pytest.approx(row["mu"] ** 2)


def test_what_is_assumed_is_said_before_the_budget_is_spent(capsys, file):
    for options, words in (
        (STRETCH, "Clamping stretch assumes: one effect for all; the instrument"),
        ((), "Clamping natural assumes"),
    ):
        shown = solve(capsys, file, *options, "--json")
        assert shown.status == 0 and words in shown.err and "about to be spent" in shown.err
        assert solve(capsys, file, *options, "--seed", 1).err == ""
    said = solve(capsys, None, "--n", 30000, "--instruments", "A", "--independent").out
    said = " ".join(said.split())
    assert "Clamping stretch assumes" in said and "natural: ranges hold" in said


def test_few_degrees_of_freedom_are_said(capsys, tmp_path):
    shown = solve(capsys, written(tmp_path, data(30)), *MEANS, "--seed", 1).out
    assert "27 degrees of freedom" in shown


def test_planning_reads_no_data(capsys):
    shown = solve(capsys, None, "--n", 30000)
    assert shown.status == 0 and shown.out.startswith("PLANNING") and "n_for_ratio_1.1" in shown.out
    rows = solve(capsys, None, "--n", 30000, *MEANS, "--clamping", "natural", "--json").rows
    # kappa² B² (Y + |beta| X)² / (mu² Var z e): Y = 26, |beta| X = 13, B² = 1 + 1.2², e of deviation 13.
    expected = 4 * (1 + 1.2**2) * 39**2 / (rows[1]["mu"] ** 2 * 13**2)
    assert rows[1]["n_star"] == pytest.approx(expected, rel=1e-9)
    assert rows[1]["length_ratio"] == pytest.approx(math.sqrt(1 + expected / 30000), rel=1e-9)


def test_honest_and_certified_sets(capsys, file):
    single = ("--instruments", "A", "--instrument-means", "A=0.5", "--seed", 4, "--epsilon", 3)
    plain, honest, certified = (row_of(capsys, file, *single, *way) for way in ((), ("--honest",), ("--certify",)))
    assert honest["coverage"] == "lower" and honest["length"] > plain["length"]
    assert certified["certified"] and certified["pieces"][0] == pytest.approx(plain["pieces"][0], rel=1e-9)


def test_a_saved_release_answers_other_questions(capsys, file):
    """Without spending more: the set at another level, from the numbers that were released."""
    row = row_of(capsys, file, "--controls", "W", "--seed", 6)
    given = row["release"]
    plain = {name: np.array(v) if isinstance(v, list) else v for name, v in given.items()}
    kept = MomentRelease(**{name: value for name, value in plain.items() if name not in ("kind", "shift")})
    for level in (0.95, 0.5):
        inner = confidence_set(kept, level)
        low, high = (float(end) + given["shift"] for end in inner.pieces[0])
        options = row_of(capsys, file, "--controls", "W", "--seed", 6, "--level", level)
        assert options["pieces"][0] == pytest.approx([low, high], rel=1e-9)


@pytest.mark.parametrize(
    ("options", "settings", "controls"),
    [
        (MEANS, {"instrument_means": {"A": 0.5, "B": 0.4}}, None),
        (("--controls", "W", "--adjacency", "zero-out"), {"adjacency": "zero-out"}, ["W"]),
        (("--public", "--clamping", "natural"), {"public": True, "clamping": "natural"}, None),
        (
            (*MEANS, "--design", "h", "--beta", 9),
            {"design": "h", "instrument_means": {"A": 0.5, "B": 0.4}, "beta": 9},
            None,
        ),
        (
            (*SIGNS, "--epsilon", 3),
            {"design": "s", "instrument_means": {"A": 0.5}, "grid": (-20, 10, 200), "epsilon": 3},
            None,
        ),
        (STRETCH, {"clamping": "stretch", "heterogeneity": 3.0}, None),
    ],
)
def test_python_gives_the_row_that_the_command_prints(capsys, file, options, settings, controls):
    """From a mapping of columns and from arrays, number for number."""
    row = row_of(capsys, file, *options, "--seed", 7)
    table = dict(zip(NAMES, data().T, strict=True))
    instruments = ["A"] if "A" in options and "B" not in options else ["A", "B"]
    model = InstrumentalVariables(**{"epsilon": 1.0, "delta": 1e-6, "bounds": RANGES, "seed": 7, **settings})
    model.fit(table, outcome="D", regressors="C", instruments=instruments, controls=controls)
    assert json.loads(json.dumps(strict(model.answer_.row()))) == row
    means = settings.get("instrument_means")
    names = ["instrument"] if len(instruments) == 1 else ["instrument_1", "instrument_2"]
    model.set_params(bounds={"outcome": (0, 52), "regressor": (0, 1)})
    model.set_params(instrument_means=means and dict(zip(names, means.values(), strict=True)))
    columns = {"outcome": table["D"], "regressors": table["C"], "instruments": data()[:, : len(names)]}
    model.fit(**columns, controls=None if controls is None else table["W"])
    assert json.loads(json.dumps(strict(model.answer_.row()))) == row


def test_python_expects_what_the_command_prints(capsys):
    rows = solve(capsys, None, "--n", 30000, "--deviation", 7, *MEANS, "--json").rows
    plan = ReleasePlan(
        outcome="D",
        regressors=("C",),
        instruments=("A", "B"),
        bounds=RANGES,
        instrument_means={"A": 0.5, "B": 0.4},
        budget=PrivacyBudget(epsilon=1.0, delta=1e-6),
    )
    assert [price.row() for price in expected_prices(plan, 30000, deviation=7.0)] == rows


def test_signs_say_the_price_beforehand_and_draw_their_curve(capsys, file, tmp_path):
    shown = solve(capsys, file, *SIGNS, "--epsilon", 3, "--public", "--plot", tmp_path / "curve.svg")
    assert "known beforehand" in shown.out and (tmp_path / "curve.svg").read_bytes().startswith(b"<?xml")
    line = solve(capsys, file, *SIGNS[:-1], "--grid=-6.5:-5.5:50", "--seed", 4)
    assert "is rejected. More epsilon or n, or a wider grid" in line.out


def test_a_long_file_is_read_in_the_memory_of_its_numbers(tmp_path):
    """Nothing but the numbers is kept, and reading says how far it is."""
    from simulators.tables import STRIDE, read_columns

    n, told = 2 * STRIDE + 5, []
    with (tmp_path / "long.csv").open("w") as file:
        file.write("z,unused,x\n" + "".join(f"{k % 2},{'text ' * 4},{k}.5\n" for k in range(n)))
    tracemalloc.start()
    found = read_columns(tmp_path / "long.csv", ("z", "x"), drop_missing=False, report=lambda *now: told.append(now))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.values.shape == (n, 2) and found.values[7].tolist() == [1.0, 7.5] and found.dropped == 0
    assert most < 3 * found.values.nbytes
    assert len(told) == 2 and told[0][0] < told[1][0] < told[1][1] and told[1][2] == f"{2 * STRIDE} records"
