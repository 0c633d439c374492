"""`dpbounds design`: tables, files, and one clear line for what cannot be."""

from __future__ import annotations

import json

import numpy as np
import pytest

from dpbounds.ftrl.design import Objective, lower_bound
from dpbounds.ftrl.design.exports import CONSUMERS
from dpbounds.ftrl.design.objective import WEIGHTS
from dpbounds.ftrl.design.schedules import SCHEDULES
from simulators.ftrl.design_files import read_design
from verify.cli import main
from verify.cli.design.ftrl import arguments

RUN = "design ftrl --steps 24 --eta 0.2 --decay 1 --d 4 --buffers 2"
PLAN = "design ftrl --plan --n 64 --decay 1 --d 4 --initial 2 --sigma-sgd 0.5 --rho 0.5 --batch-sizes 4 --buffers 2"
LOSS = ("bias", "sgd_noise", "privacy_noise")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command in a folder of its own: status, output, errors."""
    monkeypatch.chdir(tmp_path)

    def command(words: str) -> tuple[int, str, str]:
        try:
            status = main(words.split())
        except SystemExit as ended:
            status = int(ended.code or 0)
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return command


def rows_of(run, words: str) -> list[dict]:
    status, out, err = run(f"{words} --json")
    assert status == 0, err
    return json.loads(out)


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


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"format": "dpbounds-design/1", "designed": {}}',
        '{"format": "dpbounds-design/2", "designed": []}',
        '{"format": "dpbounds-design/2", "designed": {"before": [[1], 2]}}',
        '{"format": "dpbounds-design/2", "designed": {"before": ["nan"]}}',
        '{"format": ' + 100_000 * "[" + "}",
        "PK\x03\x04",
    ],
)
def test_files_that_hold_no_design(run, tmp_path, content):
    (tmp_path / "bad.json").write_text(content)
    status, out, err = run("design ftrl --saved bad.json --export npz --out new.npz")
    assert status == 2 and not out and len(err.splitlines()) == 1 and "saved = bad.json" in err
    assert not (tmp_path / "new.npz").exists()


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"event_multiplier": -1.0}, "event_multiplier"),
        ({"event_multiplier": float("nan")}, "event_multiplier"),
        ({"learning_rates": [0.1]}, "learning_rates"),
        ({"before": [0.0] * 24}, "before"),
        ({"buf_decay": [0.5, 0.5, 0.5]}, "buf_decay"),
        ({"participation": {"kind": "single", "times": 3, "separation": 1}}, "times"),
    ],
)
def test_a_changed_design_is_refused(run, tmp_path, changed, named):
    assert run(f"{RUN} --save design.json")[0] == 0
    saved = json.loads((tmp_path / "design.json").read_text())
    saved["designed"] |= changed
    (tmp_path / "design.json").write_text(json.dumps(saved))
    status, out, err = run("design ftrl --saved design.json --export npz --out new.npz")
    assert status == 2 and not out and len(err.splitlines()) == 1 and named in err, err
    assert not (tmp_path / "new.npz").exists()


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


def test_plan(run, tmp_path):
    rows = rows_of(run, f"{PLAN} --no-amplification --save plan.json --plot plan.png --export opacus --out plan.py")
    assert [row["mechanism"] for row in rows] == ["independent", "prefix sum", "designed"]
    assert all(row["batch_size"] == 4 and row["steps"] == 16 for row in rows)
    assert read_design(tmp_path / "plan.npz").noise_multiplier == pytest.approx(rows[2]["noise_multiplier"])
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_passes_within_a_limit_of_work(run):
    """With the work of four passes no more are taken; the choice is said."""
    rows = rows_of(run, f"{PLAN} --no-amplification --epochs 1 4 16 --work 256")
    assert rows[0]["epochs"] == 4 and rows[0]["steps"] == 64 and rows[0]["population"] > 0
    status, out, _ = run(f"{PLAN} --no-amplification --epochs 1 4")
    assert status == 0 and "Passes over the records: 4" in out and "for all 4 passes" in out


def test_plan_in_words(run):
    status, out, _ = run(f"{PLAN} --simulate 50")
    assert status == 0 and "Correlated noise" in out and "independent, amplified" in out and "simulated:" in out
    assert "Take " in out


ON_RECORDS = "design ftrl --plan --features records.csv --rho 0.5 --batch-sizes 4 --buffers 2 --clip-norm 0.4"
ON_RECORDS += " --no-amplification"


def records_in(folder, name="records.csv"):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((64, 2))
    y = X @ np.array([1.0, -0.5]) + 0.3 * rng.standard_normal(64)
    lines = ["a,y,b", *(f"{float(row[0])!r},{float(out)!r},{float(row[1])!r}" for row, out in zip(X, y, strict=True))]
    (folder / name).write_text("\n".join(lines) + "\n")
    return X, y


def test_a_plan_on_records_keeps_its_word(run, tmp_path):
    """Simulated on the records themselves, every gradient clipped: 6 standard errors and 5 %."""
    X, y = records_in(tmp_path)
    rows = rows_of(run, f"{ON_RECORDS} --outcome y --simulate 400")
    theta = np.linalg.lstsq(X, y, rcond=None)[0]
    assert rows[0]["bias"] < 0.5 * np.mean((X @ theta) ** 2)
    for row in rows:
        error = (row["high"] - row["low"]) / (2 * 1.96)
        assert abs(row["simulated"] - row["clipped_total"]) < 6 * error + 0.05 * row["clipped_total"]
        assert 0 < row["share_clipped"] < 1 and row["excursion"] > 0
        assert row["verdict"] in ("take", "probably", "level")
    tuned = rows_of(run, f"{ON_RECORDS} --outcome y --clip-norms 0.8 1.6 --simulate 400")
    for row, fixed in zip(tuned, rows, strict=True):
        error = (row["high"] - row["low"]) / (2 * 1.96)
        assert abs(row["simulated"] - row["clipped_total"]) < 6 * error + 0.05 * row["clipped_total"]
        assert row["clip_norm"] in (0.4, 0.8, 1.6) and row["clipped_total"] <= fixed["clipped_total"] * (1 + 1e-12)
    status, out, _ = run(f"{ON_RECORDS} --outcome y")
    assert status == 0 and "clipped_total" in out and "public or proxy" in out


def test_a_plan_with_momentum_keeps_its_word(run, tmp_path):
    """As without; what is exported are the learning rates of the run."""
    records_in(tmp_path)
    asked = f"{ON_RECORDS} --outcome y --momentum 0.8"
    rows = rows_of(run, f"{asked} --simulate 400 --export npz --out noise.npz")
    for row in rows:
        error = (row["high"] - row["low"]) / (2 * 1.96)
        assert abs(row["simulated"] - row["clipped_total"]) < 6 * error + 0.05 * row["clipped_total"]
        assert row["momentum"] == 0.8 and row["bound"] is None
    with np.load(tmp_path / "noise.npz", allow_pickle=False) as made:
        assert made["learning_rates"][0] == pytest.approx(rows[-1]["eta"])
    status, out, _ = run(asked)
    assert status == 0 and "momentum 0.8" in out and "bound" not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"{PLAN} --momentum 0.5", "momentum = 0.5"),
        (f"{ON_RECORDS} --outcome y --momentum 1", "momentum = 1"),
        (f"{ON_RECORDS} --outcome y --momentum 0.5 --plot new.svg", "plot"),
        (f"{ON_RECORDS} --outcome z", "outcome = z"),
        (ON_RECORDS.replace("records", "nosuch"), "features = nosuch.csv"),
        (f"{ON_RECORDS} --initial 1", "initial"),
        (f"{ON_RECORDS} --decay 1 --d 4", "decay"),
        (f"{ON_RECORDS} --sigma-sgd 1", "sigma_sgd"),
        (f"{PLAN} --outcome y", "outcome"),
        (f"{PLAN} --clip-norms 1 2", "clip_norms"),
        (f"{RUN} --clip-norms 1 2", "clip_norms"),
        (f"{ON_RECORDS} --clip-norms nan", "clip_norms"),
        (f"{RUN} --features records.csv", "features"),
        (ON_RECORDS.replace("records", "text"), "line 3"),
        (ON_RECORDS.replace("records", "short"), "line 2 = 1 cells"),
        (ON_RECORDS.replace("records", "nan"), "line 2"),
        (ON_RECORDS.replace("records", "zeros"), "features = zeros"),
        (ON_RECORDS.replace("records", "empty"), "a CSV file with a header"),
        (ON_RECORDS.replace("records", "header"), "a header alone"),
        (ON_RECORDS.replace("records.csv", "bad.csv.gz"), "features = bad.csv.gz"),
        (f"{ON_RECORDS} --n 128 --simulate 10", "records"),
        (f"{ON_RECORDS} --objective mean --simulate 10", "simulate"),
    ],
)
def test_records_that_cannot_be_used_are_one_line(run, tmp_path, words, said):
    records_in(tmp_path)
    files = {
        "text.csv": "a,y\n1,2\n1,x\n",
        "short.csv": "a,y\n1\n",
        "nan.csv": "a,y\n1,nan\n",
        "zeros.csv": "a,y\n" + 64 * "0,1\n",
        "empty.csv": "",
        "header.csv": "a,y\n",
        "bad.csv.gz": "a,y\n1,2\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    status, out, err = run(words)
    lines = [line for line in err.splitlines() if not line.startswith("design: ")]
    assert status == 2 and not out and len(lines) == 1 and said in lines[0], err


@pytest.mark.parametrize(
    "words",
    [
        "design",
        "design iv",
        "design nothing",
        "design ftrl",
        "design ftrl --steps 24 --decay 1 --d 4",
        f"{RUN} --eta 9",
        f"{RUN} --eta nan",
        f"{RUN} --eigenvalues 1 2",
        "design ftrl --steps 24 --eta 0.1 --eigenvalues 1 0 -1",
        "design ftrl --steps 24 --eta 0.1 --spectrum nosuch",
        f"{RUN} --epochs 9 --min-separation 8",
        f"{RUN} --min-separation 8",
        f"{RUN} --epochs 0",
        f"{RUN} --buffers 40",
        f"{RUN} --buffers 0",
        f"{RUN} --schedule nosuch",
        f"{RUN.replace('--eta 0.2', '')} --schedule short.csv",
        f"{RUN} --schedule short.csv",
        f"{RUN} --weights short.csv",
        f"{RUN} --weights short.csv --objective mean",
        "design ftrl --steps 100000000 --decay 1 --d 4 --eta 0.1",
        "design ftrl --steps 300 --decay 1 --d 4 --eta 0.1 --certify",
        f"{RUN} --momentum 0.9",
        f"{RUN} --momentum 1 --noiseless",
        f"{RUN} --noiseless --sigma-sgd 1",
        f"{RUN} --plan",
        f"{RUN} --n 100",
        f"{RUN} --no-amplification",
        f"{RUN} --epochs 1 2",
        f"{RUN} --work 100",
        f"{PLAN} --epochs 1 2 --work 63",
        f"{PLAN} --epochs 2 --work 127",
        f"{PLAN} --work nan",
        f"{PLAN} --epochs 1 0",
        f"{PLAN} --steps 3",
        f"{PLAN} --momentum 0.5",
        f"{PLAN} --batch-sizes 1000",
        f"{PLAN} --n 3",
        f"{PLAN} --initial 0",
        f"{PLAN} --schedules steep",
        "design ftrl --plan --n 100 --decay 1 --d 4",
        f"{RUN} --export npz",
        "design ftrl --saved nosuch.json --export npz --out new.npz",
        "design ftrl --saved short.csv --export npz --out new.npz",
        "design ftrl --saved short.csv",
        "design ftrl --saved short.csv --out new.npz",
        f"{RUN} --saved short.csv --export npz --out new.npz",
        "design ftrl --saved short.csv --plan --export npz --out new.npz",
        f"{RUN} --export csv --out new.csv",
        f"{RUN} --export opacus --out new.npz",
        f"{RUN} --export opacus --out new.py --save new.npz",
        f"{RUN} --out new.npz",
        f"{RUN} --save nosuch/new.json",
        f"{RUN} --save new.svg --plot new.svg",
        f"{RUN} --plot new.txt",
        f"{RUN} --rho 0",
        f"{RUN} --rho 1 --epsilon 1",
        f"{RUN} --delta 2",
        f"{RUN} --initial -1",
        f"{RUN} --sigma-sgd -1",
        f"{RUN} --clip-norm 0",
        f"{RUN} --batch-size 0",
        f"{RUN} --simulate 3",
        f"{RUN} --bound-seconds 0",
        f"{RUN} --bound-seconds nan",
        f"{PLAN} --bound-seconds 3",
        "design ftrl --steps 4096 --eta 0.2 --decay 1 --d 99 --simulate 1000000 --save new.json",
    ],
)
def test_bad_input_is_one_line_and_no_file(run, tmp_path, words):
    (tmp_path / "short.csv").write_text("0.1\n0.1\n")
    status, out, err = run(words)
    assert status == 2 and not out
    lines = [line for line in err.splitlines() if not line.startswith("design: ")]
    assert len(lines) == 1 and lines[0].startswith("dpbounds"), err
    assert [path.name for path in tmp_path.iterdir()] == ["short.csv"]


def test_help(run):
    status, out, _ = run("design ftrl --help")
    assert status == 0 and "--unknown-spectrum" in out


def test_names_on_the_command_line_are_those_of_theory():
    """They stand twice so that `--help` need not load the theory."""
    assert (arguments.OBJECTIVES, arguments.SCHEDULES) == (WEIGHTS, SCHEDULES)
    assert set(arguments.FORMATS) == set(CONSUMERS)
