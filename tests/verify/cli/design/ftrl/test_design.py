"""`dpbounds design ftrl`: tables, files and exports."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from dpbounds.ftrl.design import Objective, lower_bound
from dpbounds.ftrl.design.exports import CONSUMERS
from dpbounds.ftrl.design.objective import WEIGHTS
from dpbounds.ftrl.design.schedules import SCHEDULES
from simulators.ftrl.design_files import read_design
from tests.verify.cli.design.ftrl.examples import RUN, rows_of
from verify.cli.design.ftrl import arguments

LOSS = ("bias", "sgd_noise", "privacy_noise")


def test_rows_of_a_run(run):
    rows = rows_of(run, f"{RUN} --initial 2 --sigma-sgd 0.5 --batch-size 3 --objective final --rho 2 --clip-norm 3")
    assert [row["mechanism"] for row in rows] == ["independent", "prefix sum", "designed"]
    objective = Objective(
        1 / np.arange(1.0, 5.0), 24, eta=0.2, weights="final", batch_size=3, initial=1.0, sigma_sgd=0.5
    )
    variance = 9.0 / (4.0 * 9.0)
    for row in rows:
        assert row["total"] == pytest.approx(sum(row[part] for part in LOSS), rel=1e-12)
        assert row["bias"] == pytest.approx(objective.bias, rel=1e-12)
        least = objective.bias + objective.sgd_noise + variance * float(lower_bound(objective))
        assert row["bound"] == pytest.approx(least, rel=1e-3) and row["ratio"] >= 1 - 1e-9
        assert row["noise_multiplier"] == pytest.approx(row["sensitivity"] / 2.0)
        assert row["gain"] == pytest.approx(rows[0]["total"] / row["total"])
        assert row["gain_tuned"] > 0 and row["seconds"] >= 0
    assert rows[0]["privacy_noise"] == pytest.approx(variance * objective.diagonal().sum())
    assert rows[2]["noise_ratio"] < 1.1 < rows[1]["noise_ratio"]


def test_a_bound_in_a_given_time_is_one(run):
    whole, ended = rows_of(run, RUN), rows_of(run, f"{RUN} --bound-seconds 1e-9")
    for one, two in zip(whole, ended, strict=True):
        assert one["total"] == two["total"] and 0 < two["bound"] <= one["bound"] * (1 + 1e-9)


def test_table_says_what_it_shows(run):
    status, out, _ = run(f"{RUN} --certify --epsilon 2")
    assert status == 0
    for words in ("noise", "designed", "proved by ball arithmetic", "epsilon = 2 at delta = 1e-05", "T = 24"):
        assert words in out


def test_epochs(run):
    cyclic = rows_of(run, f"{RUN} --epochs 3")
    apart = rows_of(run, f"{RUN} --epochs 3 --min-separation 8")
    assert cyclic[0]["sensitivity"] == pytest.approx(np.sqrt(3)) and apart[0]["total"] == cyclic[0]["total"]
    assert all(row["ratio"] >= 1 - 1e-9 for row in (*cyclic, *apart))


def test_schedules_and_weights_from_files(run, tmp_path):
    (tmp_path / "rates.csv").write_text("\n".join(str(0.2 * (1 - t / 24)) for t in range(24)))
    np.save(tmp_path / "weights.npy", np.ones(24) / 24)
    named = rows_of(run, f"{RUN} --schedule linear")
    given = rows_of(run, RUN.replace("--eta 0.2", "--schedule rates.csv --weights weights.npy"))
    assert given[0]["total"] == pytest.approx(named[0]["total"], rel=1e-12)


def test_fewer_participations_than_fit(run):
    """The proved bound is below every total."""
    rows = rows_of(run, "design ftrl --steps 5 --epochs 2 --min-separation 2 --eta .5 --eigenvalues 1 .4 --certify")
    assert rows[2]["bound"] == pytest.approx(0.719, abs=2e-3) and rows[2]["total"] == pytest.approx(0.7631, abs=1e-3)
    assert all(row["ratio"] >= 1 for row in rows)


def test_what_momentum_buys_on_a_class_is_said_where_it_is_proved(run):
    asked = "design ftrl --steps 24 --noiseless --initial 1 --eigenvalues 1 .1"
    said = "Momentum under correlated noise"
    assert said in run(f"{asked} --eta .001 --momentum .9801")[1]
    assert "is not proved at its rate" in run(f"{asked} --eta 2.5 --momentum .4")[1]
    assert said not in run(f"{asked} --eta .001")[1]


def test_what_momentum_buys_with_sampled_gradients(run):
    """Errors of gradients are counted where a batch size is given; the rows are those of exact gradients."""
    asked = "design ftrl --steps 24 --noiseless --initial 1 --eigenvalues 1 .1 --eta .001 --momentum .9801"

    def times(options):
        out = " ".join(run(f"{asked} {options}")[1].split())
        found = re.search(r"at least ([0-9.]+) times", out)
        return float(found[1]) if found else None, "errors of gradients within one bound" in out, out

    exact, one, few = times(""), times("--batch-size 1"), times("--batch-size 10 --sigma-sgd .1")
    assert few[0] < one[0] < exact[0] and (exact[1], one[1], few[1]) == (False, True, True)
    assert "m = 10 fresh records a step" in few[2] and "sigma^2 = 0.01" in few[2] and "exact gradients" in few[2]
    lost = times("--batch-size 1000 --sigma-sgd 1")[2]
    assert "is not proved at its rate" in lost and "m = 1000 fresh records" in lost
    assert run(f"{asked} --sigma-sgd .1")[0] != 0  # no batch size: the gradients are exact


def test_heavy_ball_and_unknown_spectrum(run):
    momentum = rows_of(run, f"{RUN} --noiseless --momentum 0.5")
    assert momentum[2]["ratio"] < 1.5
    unknown = rows_of(run, f"{RUN} --unknown-spectrum")
    assert unknown[2]["total"] >= rows_of(run, RUN)[2]["total"] * (1 - 1e-6)


def test_files(run, tmp_path):
    status, out, err = run(f"{RUN} --rho 2 --save rows.json --plot loss.svg --export npz --out noise.npz")
    assert status == 0 and "designed" in out, err
    saved = json.loads((tmp_path / "rows.json").read_text())
    assert saved["format"] == "dpbounds-design/2" and len(saved["rows"]) == 3
    exported = read_design(tmp_path / "noise.npz")
    assert exported.rho == pytest.approx(2.0)
    assert exported.noise_multiplier == pytest.approx(saved["rows"][2]["noise_multiplier"])
    assert np.allclose(saved["designed"]["buf_decay"], exported.stream.buf_decay)
    assert np.allclose(saved["designed"]["after"], exported.stream.after)
    assert (tmp_path / "loss.svg").read_bytes().startswith(b"<?xml")


def test_a_saved_design_exports_as_the_design_itself(run, tmp_path):
    """Byte for byte, from --save and from an archive, with several passes and scaled columns."""
    for words in (f"{RUN} --batch-size 3", f"{RUN} --epochs 3 --clip-norm 0.5", f"{RUN} --schedule linear"):
        status, _, err = run(f"{words} --save design.json --export opacus --out direct.py")
        assert status == 0, err
        for saved in ("design.json", "direct.npz"):
            status, out, err = run(f"design ftrl --saved {saved} --export opacus --out again.py")
            assert status == 0 and "again.py" in out, err
            assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "direct.npz").read_bytes()
            direct, again = ((tmp_path / name).read_text() for name in ("direct.py", "again.py"))
            assert again.replace("again", "direct") == direct
    (found,) = rows_of(run, "design ftrl --saved design.json --export jax-privacy --out other.py")
    assert found["files"] == ["other.npz", "other.py"] and found["rho"] == pytest.approx(0.5)


def test_a_saved_design_that_claims_too_little_noise_is_refuted_by_the_audit(run, tmp_path):
    """The file is believed, and says so; what is exported can be decided without it."""
    assert run(f"{RUN} --rho 0.5 --save design.json")[0] == 0
    saved = json.loads((tmp_path / "design.json").read_text())
    for share, verdict in ((1.0, 0), (0.5, 1)):
        saved["designed"]["sensitivity"]["number"] *= share
        (tmp_path / "design.json").write_text(json.dumps(saved))
        assert "as the file says" in run("design ftrl --saved design.json --export npz --out new.npz")[1]
        assert run("audit --coefficients new.npz --rho 0.5")[0] == verdict


def test_simulated_beside_predicted(run):
    words = f"{RUN} --initial 2 --sigma-sgd 0.5 --batch-size 2 --simulate 400"
    rows = rows_of(run, words)
    for row in rows:
        # 400 runs: six standard errors, a false alarm once in 1e8.
        error = (row["high"] - row["low"]) / 3.9
        assert abs(row["simulated"] - row["total"]) < 6 * error
    assert [row["simulated"] for row in rows_of(run, words)] == [row["simulated"] for row in rows]


def test_help(run):
    status, out, _ = run("design ftrl --help")
    assert status == 0 and "--unknown-spectrum" in out


def test_names_on_the_command_line_are_those_of_theory():
    """They stand twice so that `--help` need not load the theory."""
    assert (arguments.OBJECTIVES, arguments.SCHEDULES) == (WEIGHTS, SCHEDULES)
    assert set(arguments.FORMATS) == set(CONSUMERS)
