"""The command line as a stranger meets it."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.verify.cli.commands import dpbounds


def test_help_loads_nothing_heavy(tmp_path):
    assert loaded("from verify.cli import parser; parser().format_help()", "numpy", "rich", "scipy") == []
    for command in ([], ["list"], ["verify"], ["solve"], ["solve", "ftrl"], ["report"]):
        shown = dpbounds(*command, "--help", cwd=tmp_path)
        assert shown.returncode == 0 and "usage: dpbounds" in shown.stdout


def test_import_of_theory_is_light():
    assert loaded("import dpbounds", "scipy", "matplotlib", "flint", "sympy", "mpmath", "cvxpy") == []


def loaded(code: str, *modules: str) -> list[str]:
    """Which of the modules a fresh interpreter has loaded after the code."""
    code = f"{code}; import sys, json; print(json.dumps([m for m in {modules} if m in sys.modules]))"
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def test_verify_then_list_then_resume(tmp_path):
    first = dpbounds("verify", "ftrl/thm-2.1-dpsgd", "ftrl/thm-2.1-rate", "--jobs", "1", "--json", cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    rows = json.loads(first.stdout)
    assert [row["verdict"] for row in rows] == ["confirmed", "corrected"]
    assert {"claim", "topic", "verdict", "how", "slack", "seconds", "seed", "finding"} <= set(rows[0])
    assert rows[1]["finding"].count("\n") == 0
    listed = json.loads(dpbounds("list", "ftrl", "--json", cwd=tmp_path).stdout)
    assert {"claim", "topic", "kind", "level"} <= set(listed[0])
    assert {row["claim"]: row["verdict"] for row in listed}["ftrl/thm-2.1-rate"] == "corrected"
    results = (tmp_path / "dpbounds-results" / "results.json").read_bytes()
    again = dpbounds("verify", "ftrl/thm-2.1-dpsgd", "ftrl/thm-2.1-rate", "--resume", cwd=tmp_path)
    assert again.returncode == 0 and "2 claims: 1 confirmed, 1 corrected" in again.stdout
    assert (tmp_path / "dpbounds-results" / "results.json").read_bytes() == results


def test_list_of_one_claim_shows_its_statement(tmp_path):
    assert "States:" in dpbounds("list", "ftrl/eq-14", cwd=tmp_path).stdout


def test_shards_then_join(tmp_path):
    for part in ("0/2", "1/2"):
        assert (
            "tasks stored" in dpbounds("verify", "ftrl/fig-1-mid", "--shard", part, "--jobs", "1", cwd=tmp_path).stdout
        )
    joined = dpbounds("verify", "ftrl/fig-1-mid", "--resume", cwd=tmp_path)
    assert joined.returncode == 0 and "confirmed" in joined.stdout


def test_impostors_print_the_detection_rate(tmp_path):
    shown = dpbounds("verify", "ftrl/thm-2.1-neg", "--impostors", "--jobs", "1", cwd=tmp_path)
    assert shown.returncode == 0 and "Detection rate 100.0%: 2 of 2" in shown.stdout


def test_a_users_own_modules_are_not_in_the_way(tmp_path):
    """verify.py and reports/ in the working folder, with the installed console script."""
    (tmp_path / "verify.py").write_text("raise SystemExit('wrong module')\n")
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "__init__.py").write_text("raise SystemExit('wrong package')\n")
    script = Path(sys.executable).with_name("dpbounds")
    shown = subprocess.run([script, "verify", "glm/lem-5", "--jobs", "1"], cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "1 confirmed" in shown.stdout


# --- solve ---


def test_solve_rows(tmp_path):
    saved = tmp_path / "rows.json"
    shown = dpbounds(
        "solve",
        "ftrl",
        "--kappa",
        "10",
        "100",
        "--eta",
        "0.1",
        "--mechanism",
        "sgd",
        "nu",
        "optimal",
        "anti-pgd",
        "--json",
        "--save",
        str(saved),
        cwd=tmp_path,
    )
    rows = json.loads(shown.stdout)
    assert len(rows) == 8 and json.loads(saved.read_text()) == rows
    by_name = {row["mechanism"]: row for row in rows[:4]}
    assert by_name["optimal"]["suboptimality"] < by_name["nu"]["suboptimality"] < by_name["sgd"]["suboptimality"]
    assert by_name["anti-pgd"]["suboptimality"] == "inf"
    assert all(row["kind"] == "exact" for row in rows)
    table = dpbounds("solve", "ftrl", "--problem", "mean-estimation", "--eta", "0.1", cwd=tmp_path)
    assert table.returncode == 0 and "over_optimum" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["verify", "nothing"], ["claim = nothing", "ftrl"]),
        (["verify", "--level", "x"], ["--level", "quick"]),
        (["verify", "--seed", "-1"], ["--seed", "-1"]),
        (["verify", "--jobs", "0"], ["jobs = 0"]),
        (["verify", "--shard", "2/2"], ["--shard", "2/2"]),
        (["verify", "--data-dir", "nowhere"], ["data_dir = nowhere"]),
        (["verify", "--data-dir", ".", "--scheduler", "tcp://x:1"], ["data_dir = .", "DPBOUNDS_DATA_DIR"]),
        (["verify", "--scheduler", "tcp://x:1", "--jobs", "2"], ["jobs = 2"]),
        (["verify", "--store", "file/store"], ["store = file/store"]),
        (["list", "ftrl/x"], ["claim = ftrl/x"]),
        (["solve", "ftrl", "--eta", "0.1"], ["--kappa"]),
        (["solve", "ftrl", "--eta", "5", "--kappa", "10"], ["eta = 5", "stability limit"]),
        (["solve", "ftrl", "--eta", "0.1", "--kappa", "0.5"], ["kappa = 0.5"]),
        (["solve", "ftrl", "--eta", "0.1", "--kappa", "10", "--rho", "0"], ["rho = 0"]),
        (["solve", "ftrl", "--eta", "0.1", "--kappa", "10", "--nu", "2"], ["nu = 2"]),
        (["solve", "ftrl", "--eta", "0.1", "--eigenvalues", "1", "nan"], ["eigenvalues[1] = nan"]),
        (["solve", "ftrl", "--eta", "x", "--kappa", "10"], ["--eta", "x"]),
        (["solve", "iv"], ["iv"]),
        (["nonsense"], ["nonsense", "list"]),
        ([], ["COMMAND"]),
    ],
)
def test_bad_input_is_one_clear_line_and_status_2(tmp_path, arguments, words):
    (tmp_path / "file").write_text("")
    shown = dpbounds(*arguments, cwd=tmp_path)
    assert shown.returncode == 2, shown
    assert shown.stdout == "" and shown.stderr.count("\n") == 1
    assert all(word in shown.stderr for word in words), shown.stderr
    assert {file.name for file in tmp_path.iterdir()} <= {"file", "dpbounds-results"}


def test_a_damaged_store_is_named_and_kept(tmp_path):
    folder = tmp_path / "dpbounds-results"
    folder.mkdir()
    (folder / "tasks.jsonl").write_text("garbage\nmore\n")
    shown = dpbounds("verify", "ftrl/thm-2.1-dpsgd", "--resume", cwd=tmp_path)
    place = "line 1 of the store = dpbounds-results/tasks.jsonl"
    assert shown.returncode == 2 and shown.stderr.startswith(f"dpbounds: {place} is not allowed: ")
    assert (folder / "tasks.jsonl").read_text() == "garbage\nmore\n"


def test_a_full_disk_is_reported_and_leaves_a_store_to_resume(tmp_path):
    """The system refuses to let files grow beyond 600 bytes: the first results fit, the next do not."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600))

    shown = dpbounds("verify", "ftrl/fig-1-mid", "--jobs", "1", cwd=tmp_path, before=limited)
    assert shown.returncode == 2 and "store = dpbounds-results" in shown.stderr and "Traceback" not in shown.stderr
    assert [file.name for file in (tmp_path / "dpbounds-results").iterdir()] == ["tasks.jsonl"]
    again = dpbounds("verify", "ftrl/fig-1-mid", "--resume", "--jobs", "1", cwd=tmp_path)
    assert again.returncode == 0 and "1 confirmed" in again.stdout


def test_a_folder_where_nothing_can_be_written_is_reported(tmp_path):
    shown = dpbounds("verify", "ftrl/thm-2.1-dpsgd", "--store", "/proc/dpbounds", cwd=tmp_path)
    assert shown.returncode == 2 and "store = /proc/dpbounds" in shown.stderr
