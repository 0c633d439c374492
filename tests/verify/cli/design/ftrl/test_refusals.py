"""`dpbounds design`: one clear line, and no file, for what cannot be."""

from __future__ import annotations

import json

import pytest

from tests.verify.cli.design.ftrl.examples import ON_RECORDS, PLAN, RUN, records_in


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
