"""`dpbounds solve ftrl --simulate`: what is simulated is what is predicted, for every problem.

Seeds are fixed. A mean is held against its prediction within six times the half-width of its 95 % interval: with as
many runs as here a false alarm at another seed has probability below 1e-9, and a prediction off by two fifths is seen.
"""

from __future__ import annotations

import json

import pytest

from dpbounds.ftrl import correlations
from simulators.engine import Experiment
from simulators.ftrl import Quadratic, StronglyConvexLoss, rehearsals, stationary_settings, strongly_convex
from tests.verify.cli.solve.examples import call
from verify.cli.solve.ftrl import plot, simulated

TRIALS = "6000"


def agrees(row, predicted):
    """Within six half-widths, which are less than a twentieth of the prediction."""
    value, low, high = (row[name] for name in ("simulated", "low", "high"))
    arm = (high - low) / 2
    assert low < value < high and arm < predicted / 20, row
    return abs(value - predicted) < 6 * arm


@pytest.mark.parametrize(
    "options",
    [
        ("--problem", "mean-estimation", "--eta", "0.3", "--clip-norm", "2", "--sigma-sgd", "1.5", "--rho", "0.3"),
        ("--kappa", "5", "--eta", "0.3", "--sigma-sgd", "0.5", "--epsilon", "2", "--clip-norm", "0.7"),
        ("--eigenvalues", "1", "0.7", "0.5", "--eta", "0.2"),
    ],
)
def test_the_long_run(capsys, options):
    asked = ("solve", "ftrl", *options, "--mechanism", "sgd", "best-nu", "optimal", "--simulate", TRIALS, "--json")
    for row in call(capsys, *asked).rows:
        assert agrees(row, row["suboptimality"])


@pytest.mark.parametrize(
    "options",
    [
        ("--problem", "mean-estimation", "--eta", "0.3", "--clip-norm", "2", "--sigma-sgd", "1.5", "--initial", "1.5"),
        ("--kappa", "5", "--eta", "0.3", "--sigma-sgd", "0.5", "--epsilon", "2", "--initial", "2"),
    ],
)
def test_after_T_steps(capsys, options):
    """From theta_0, with noise for T steps; also where there is no limit."""
    asked = ("solve", "ftrl", *options, "--mechanism", "sgd", "nu", "anti-pgd", "--T", "3", "12", "--simulate", "40000")
    rows = call(capsys, *asked, "--json").rows
    assert [row["suboptimality"] for row in rows[4:]] == ["inf", "inf"]
    for row in rows:
        assert agrees(row, row["suboptimality_T"])


def test_the_worst_quadratic_is_below_every_bound(capsys):
    """`lower` is its exact error, whatever d is."""
    asked = ("solve", "ftrl", "--kappa", "4", "--eta", "0.4", "--mechanism", "sgd", "nu", "--nu", "0.2", "--json")
    asked += ("--d", "3", "--sigma-sgd", "1", "--clip-norm", "2", "--program", "f", "paper", "--max-lag", "5")
    asked += ("--simulate", "1500")
    rows = call(capsys, *asked).rows
    for row in rows:
        assert agrees(row, row["lower"])
    assert all(row["high"] < row["upper"] for row in rows if row["upper"])
    assert rows[0]["simulated"] == rows[1]["simulated"], "the same loss and noise"


def test_one_coordinate_d_times_is_the_loss_in_d_dimensions():
    loss, correlation = Quadratic(eigenvalues=(0.5, 0.5)), correlations.nu(0.3)
    settings = stationary_settings(loss, correlation, 0.4, 0.5)
    problem = StronglyConvexLoss(loss=loss, sigma_sgd=1.0)
    whole = Experiment(algorithm=strongly_convex, problem=problem, settings=settings, block_trials=4000)
    one = Experiment(
        algorithm=strongly_convex,
        problem=StronglyConvexLoss(loss=Quadratic(eigenvalues=(0.5,)), sigma_sgd=2**-0.5),
        settings=settings,
        block_trials=4000,
    )
    means = [experiment.run_block(0, seed=1)["mean_loss"].mean() for experiment in (whole, one)]
    assert means[0] == pytest.approx(2 * means[1], rel=0.05)


def test_the_same_seed_gives_the_same_numbers(capsys):
    asked = ("solve", "ftrl", "--kappa", "5", "--eta", "0.3", "--mechanism", "sgd", "--simulate", "20", "--json")
    first, again, other = (call(capsys, *asked, *seed).rows for seed in ((), ("--seed", "0"), ("--seed", "7")))
    assert first == again
    assert first[0]["simulated"] != other[0]["simulated"]


def test_without_it_there_is_no_column(capsys):
    asked = ("solve", "ftrl", "--kappa", "5", "--eta", "0.3", "--mechanism", "sgd")
    assert not [name for name in call(capsys, *asked, "--json").rows[0] if "simulated" in name]
    assert "simulated" not in call(capsys, *asked).out
    shown = call(capsys, *asked, "--program", "f", "--max-lag", "1")
    assert "simulated" not in shown.out


def test_tables_pictures_and_files_hold_it(capsys, tmp_path):
    asked = ("solve", "ftrl", "--kappa", "5", "--eta", "0.3", "--mechanism", "sgd", "--simulate", "20")
    shown = call(capsys, *asked)
    assert shown.out.split()[:6] == ["mechanism", "gamma", "suboptimality", "simulated", "low", "high"]
    assert "over 20 runs (seed 0), with a 95 % interval" in " ".join(shown.out.split())
    file = tmp_path / "bounds.json"
    asked = (*asked[:3], "10", *asked[4:])  # a picture of one point at a power of ten
    convex = (*asked, "--certify", "--max-lag", "1", "--save", file, "--plot", tmp_path / "a.svg")
    assert "simulated: the mean of F - F* on that quadratic" in " ".join(call(capsys, *convex).out.split())
    (row,) = json.loads(file.read_text())["rows"]
    assert row["low"] < row["simulated"] < row["high"]
    assert call(capsys, "solve", "--check", file).status == 0
    picture = plot.picture([row])
    assert picture.series[-1].role == "simulated" and picture.series[-1].y == (row["simulated"],)
    assert picture.series[-1].low == (row["low"],) and "the worst quadratic" in picture.y
    both = plot.picture([{**row, "adversarial": 0.1, "standard_error": 0.01}])
    assert [one.curve for one in both.series if one.role == "simulated"] == ["sgd", "sgd, worst quadratic"]


def test_a_start_that_is_not_forgotten_is_said(capsys, monkeypatch):
    monkeypatch.setattr(rehearsals, "MOST_STEPS", 20)
    asked = ("solve", "ftrl", "--kappa", "50", "--eta", "0.3", "--mechanism", "sgd", "--simulate", "20", "--json")
    shown = call(capsys, *asked)
    assert shown.status == 3 and "not forgotten within 20 steps" in shown.err and "--T" in shown.err
    assert shown.rows[0]["simulated"] is None and shown.rows[0]["suboptimality"] > 0
    noise = ("--mechanism", "nu", "--nu", "0.01", "--program", "f", "--max-lag", "1")
    shown = call(capsys, *asked[:6], *noise, *asked[-3:])
    assert shown.status == 3 and "nu, kappa = 50: simulation: on the worst quadratic" in shown.err
    assert shown.rows[0]["upper"] > shown.rows[0]["lower"] > 0


def test_work_is_bounded_before_it_begins(capsys, monkeypatch):
    monkeypatch.setattr(simulated, "MOST_DRAWS", 1_000_000)
    monkeypatch.setattr(simulated, "simulate", None)
    shown = call(capsys, "solve", "ftrl", "--kappa", "5", "--eta", "0.3", "--simulate", "5000")
    assert shown.status == 2 and "simulate = 5000" in shown.err and "fewer trials" in shown.err


def test_blocks_do_not_depend_on_the_number_of_trials():
    """Few trials where runs are long, many where they are short."""
    loss = Quadratic(eigenvalues=(0.5,))
    sizes = []
    for eta in (1e-4, 0.01, 1.0):
        settings = stationary_settings(loss, correlations.independent(), eta, 0.5)
        sizes.append(
            rehearsals.experiment_in_blocks(strongly_convex, StronglyConvexLoss(loss=loss), settings).block_trials
        )
    assert sizes == [16, 357, 1024]
