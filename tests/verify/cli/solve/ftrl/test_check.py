"""`dpbounds solve --check`: saved bounds, proved again."""

from __future__ import annotations

import copy
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jaxtyping import config

from dpbounds.ftrl import correlations
from dpbounds.ftrl import strongly_convex as sc
from tests.verify.cli.solve.examples import SOLVE, call, refused, rows_of


@pytest.fixture(scope="module", autouse=True)
def signatures_unchecked():
    """Checking the shapes of signatures costs several times what the proofs cost."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The file of a table with three kinds of correlation and two programs, and its certified rows."""
    file = tmp_path_factory.mktemp("check") / "bounds.json"
    asked = ["--mechanism", "sgd", "nu", "optimal", "--program", "f", "paper", "--certify", "--max-lag", "2"]
    return file, [row for row in rows_of(*SOLVE, *asked, "--save", file) if row["program"] == "f"]


def test_bounds_are_proved_again(saved):
    file, rows = saved
    again = rows_of("solve", "--check", file)
    for one, other in zip(rows, again, strict=True):
        assert set(one) - {"epsilon", "delta"} == set(other) and other["status"] == "certified"
        assert other["nu"] == one["nu"] or other["nu"] == one["best_nu"]
        for name in set(other) - {"seconds", "mechanism", "nu", "best_nu"}:
            assert other[name] == (pytest.approx(one[name], rel=1e-9) if isinstance(one[name], float) else one[name])
    assert [row["mechanism"] for row in again] == ["sgd", "nu", "half-powers"]


def test_a_file_is_small_and_has_all_rows(saved):
    file, rows = saved
    assert file.stat().st_size < 4_000 * 6
    stored = json.loads(file.read_text())["rows"]
    proofs = [row.pop("certificate") for row in stored]
    printed = [{name: value for name, value in row.items() if name not in ("epsilon", "delta")} for row in rows]
    assert [row for row in stored if row["program"] == "f"] == printed
    assert [proof is None for proof in proofs] == [False, True] * 3
    assert {row["status"] for row in stored[1::2]} == {"not a bound"}


def test_proofs_need_no_solver(saved):
    """None is loaded, and the one that comes with the theory is taken away."""
    code = (
        "import sys; from verify.cli import main; from dpbounds.ftrl.strongly_convex import newton; "
        f"newton.solve = None; main(['solve', '--check', {str(saved[0])!r}]); "
        "sys.exit('cvxpy' in sys.modules or 'matplotlib' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (shown.returncode, shown.stderr) == (0, "") and "upper" in shown.stdout.splitlines()[0]
    assert "3 bounds certified again" in shown.stdout and "3 rows of the file never had a proof" in shown.stdout


def test_what_python_stored_can_be_checked(capsys, tmp_path, saved):
    """One `ConvexBound.data()`, or a list of them, without the command line's frame."""
    plain = certificates(saved)
    for content, mechanisms in ((plain[1], ["nu"]), (plain[0:1], ["sgd"])):
        shown = call(capsys, "solve", "--check", written(tmp_path, content), "--json")
        assert [row["mechanism"] for row in shown.rows] == mechanisms


def test_a_file_without_proofs_is_saved_and_says_so(capsys, tmp_path):
    file = tmp_path / "estimates.json"
    assert call(capsys, *SOLVE, "--mechanism", "sgd", "--program", "f", "--max-lag", "2", "--save", file).status == 0
    assert [row["status"] for row in json.loads(file.read_text())["rows"]] == ["estimate"]
    assert refused(call(capsys, "solve", "--check", file), "check = ", "without --certify")


# --- files that are no such thing ---

CHANGES = {
    "value": lambda entry: entry.update(value=0.9 * entry["value"]),
    "value a little": lambda entry: entry.update(value=entry["value"] * (1 - 1e-6)),
    "lower": lambda entry: entry.update(lower=1.1 * entry["lower"]),
    "curvature": lambda entry: entry.update(curvature=0.5),
    "multipliers": lambda entry: entry["multipliers"].__setitem__(-1, 0.5),
    "negative": lambda entry: entry["multipliers"].__setitem__(1, -1e-3),
    "none": lambda entry: entry.update(multipliers=[]),
    "text": lambda entry: entry.update(multipliers="many"),
    "infinite": lambda entry: entry["multipliers"].__setitem__(0, float("inf")),
    "useless": lambda entry: entry.update(multipliers=[1e9]),
    "mu": lambda entry: entry["program"].update(mu=0.2),
    "eta": lambda entry: entry["program"].update(eta=3.0),
    "program": lambda entry: entry["program"].update(name="g"),
    "rho": lambda entry: entry["noise"].update(rho=1.0),
    "huge": lambda entry: entry["noise"].update(clip_norm=10**400),
    "correlation": lambda entry: entry["noise"]["correlation"].update(kind="pink"),
    "format": lambda entry: entry.update(format="dpbounds-bound/0"),
    "missing": lambda entry: entry.pop("noise"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_bound_is_refused_by_its_proof(capsys, tmp_path, saved, change):
    """Without the file's checksum: it is the certificate that must notice."""
    entry = certificates(saved)[1]
    CHANGES[change](entry)
    shown = call(capsys, "solve", "--check", written(tmp_path, [entry]))
    assert refused(shown, "check = ", "Infinity" if change == "infinite" else "row 1"), shown


def test_any_change_is_refused_by_the_checksum(capsys, tmp_path, saved):
    content = json.loads(saved[0].read_text())
    changed = copy.deepcopy(content)
    changed["rows"][0]["certificate"]["multipliers"][0] *= 1 + 1e-12
    for other in (changed, {**content, "rows": None}, {**content, "rows": content["rows"][:1]}):
        assert refused(call(capsys, "solve", "--check", written(tmp_path, other)), "checksum")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("upper", 0.01, ["row 2", "upper"]),
        ("lower", 0.012, ["row 2", "lower"]),
        ("status", "proved", ["row 2", "status"]),
        ("rho", 0.6, ["row 2", "rho"]),
        ("co_coercivity", 0.01, ["row 2", "co_coercivity"]),
        ("best_nu", None, ["row 2", "nu"]),
        ("mechanism", "damped-anti-pgd", ["row 2", "mechanism"]),
        ("mechanism", "sgd", ["row 2", "mechanism"]),
        ("kappa", 100.0, ["row 2", "kappa"]),
        ("gap", 0.0, ["row 2", "gap"]),
        ("ratio", 1.0, ["row 2", "ratio"]),
        ("upper", None, ["row 2", "upper"]),
        ("tightest", "contraction", ["row 2", "tightest"]),
        ("value", "further", ["row 2", "upper is not its tightest bound"]),
        ("clip_norm", True, ["row 2", "clip_norm"]),
        ("adversarial2", 1.0, ["row 2", "columns"]),
        ("certificate", None, ["row 2"]),
        ("certificate", [], ["row 2"]),
        ("certificate", "none", ["row 2"]),
    ],
)
def test_a_forged_row_with_a_right_checksum_is_refused(capsys, tmp_path, saved, name, value, words):
    content = json.loads(saved[0].read_text())
    content["rows"] = content["rows"][1:3]
    content["rows"][1][name] = content["rows"][1][name] * (1 + 1e-8) if value == "further" else value
    content["checksum"] = hashlib.sha256(json.dumps(content["rows"], sort_keys=True).encode()).hexdigest()[:32]
    assert refused(call(capsys, "solve", "--check", written(tmp_path, content)), "check = ", *words)


def forged(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """A file whose checksum is right."""
    digest = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:32]
    return written(folder, {"format": "dpbounds-bounds/1", "checksum": digest, "rows": rows})


@pytest.mark.parametrize("share", [1e-6, 1e-9, 1e-13])
@pytest.mark.parametrize("name", ["upper", "lower", "value"])
def test_ends_that_say_a_little_more_than_is_proved(capsys, tmp_path, saved, name, share):
    """In the row, with whatever follows from it, and in the certificate."""
    row = json.loads(saved[0].read_text())["rows"][2]
    inward = 1 + share * (1 if name == "lower" else -1)
    row[name] *= inward
    row["gap"], row["ratio"] = row["upper"] - row["lower"], row["upper"] / row["lower"]
    assert refused(call(capsys, "solve", "--check", forged(tmp_path, [row])), "row 1", name)
    if name != "upper":
        data = row["certificate"]
        data[name] *= inward * (1 + 2e-12 * (1 if name == "lower" else -1))
        assert refused(call(capsys, "solve", "--check", written(tmp_path, data)), "row 1", name)


def test_a_row_must_have_its_numbers_and_a_proof_its_program(capsys, tmp_path, saved):
    rows = json.loads(saved[0].read_text())["rows"]
    bare = {key: value for key, value in rows[2].items() if key in ("certificate", "mechanism")}
    assert refused(call(capsys, "solve", "--check", forged(tmp_path, [bare])), "row 1", "columns")
    claimed = {**rows[2], "certificate": None, "status": "proved"}
    assert refused(call(capsys, "solve", "--check", forged(tmp_path, [rows[0], claimed])), "row 2", "proved")
    paper = copy.deepcopy(rows[2])
    paper["certificate"]["program"]["name"] = "paper"
    assert refused(call(capsys, "solve", "--check", forged(tmp_path, [paper])), "row 1")


def slowest(count: int) -> list[dict[str, Any]]:
    """Bounds of small files whose proofs have many cells: slow next to frequency 0 and to pi."""
    program = sc.Program(name="f", mu=1e-6, L=1.0, eta=1.999999)
    found = sc.bound_program(sc.Noise(correlation=correlations.nu(1e-9), rho=0.5), program, max_lag=0)
    return [found.data()] * count


def test_what_would_take_long_is_refused_at_once(capsys, tmp_path, saved, monkeypatch):
    entry = certificates(saved)[1]
    assert refused(call(capsys, "solve", "--check", written(tmp_path, [entry] * 600)), "too long")
    with monkeypatch.context() as patched:
        patched.setattr("verify.cli.solve.ftrl.check.MOST_WORK", 150_000)
        assert refused(call(capsys, "solve", "--check", written(tmp_path, slowest(7))), "work")
    entry["multipliers"] = [*entry["multipliers"], *[0.0] * 400]
    assert refused(call(capsys, "solve", "--check", written(tmp_path, [entry])), "multipliers", "201")
    assert refused(call(capsys, "solve", "--check", Path("/dev/zero")), "a regular file")


def test_a_condition_number_that_rounding_moves_is_no_forgery(capsys, tmp_path):
    """1 / (1 / 49) is not 49; a kappa next to it is refused all the same."""
    file, asked = tmp_path / "49.json", ("--kappa", "49", "--eta", "0.1", "--mechanism", "sgd", "--max-lag", "1")
    assert call(capsys, "solve", "ftrl", *asked, "--program", "f", "--certify", "--save", file).status == 0
    assert call(capsys, "solve", "--check", file, "--json").rows[0]["kappa"] == 49.0
    row = json.loads(file.read_text())["rows"][0]
    for kappa in (49.00000000000001 * (1 + 1e-12), 49, "49.0", True, None):
        assert refused(call(capsys, "solve", "--check", forged(tmp_path, [{**row, "kappa": kappa}])), "kappa")


def test_that_something_is_the_best_is_not_printed(capsys, tmp_path, saved):
    """No search is repeated: a nu that was never the best says no more than its noise."""
    row = json.loads(saved[0].read_text())["rows"][2]
    assert row["best_nu"] is not None and row["nu"] is None
    for nu, best in ((row["best_nu"], None), (None, row["best_nu"])):
        file = forged(tmp_path, [{**row, "nu": nu, "best_nu": best, "mechanism": "best-nu"}])
        shown = call(capsys, "solve", "--check", file, "--json")
        assert [(one["mechanism"], one["nu"], one["best_nu"]) for one in shown.rows] == [("nu", row["best_nu"], None)]
    for nu, best in ((row["best_nu"],) * 2, (None, None), (None, 0.5), (True, None)):
        assert refused(call(capsys, "solve", "--check", forged(tmp_path, [{**row, "nu": nu, "best_nu": best}])), "nu")


def test_columns_that_are_not_proved_are_not_printed(capsys, tmp_path, saved):
    row = json.loads(saved[0].read_text())["rows"][2]
    free = {"adversarial": 1e9, "standard_error": 0.0, "seconds": -1.0, "failure": "none, it is optimal"}
    (shown,) = call(capsys, "solve", "--check", forged(tmp_path, [{**row, **free}]), "--json").rows
    assert shown["adversarial"] is shown["standard_error"] is shown["failure"] is None and shown["seconds"] >= 0


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "a\\u202eb"}',
        '{"a\\u2028": 1}',
        '{"format": "\\ud800"}',
        '{"value": 1e999}',
        '{"value": -1e999}',
        '{"value": NaN}',
        '{"value": ' + "9" * 5000 + "}",
        '{"a":' * 30_000,
        "[" + "[]," * 200_000 + "1]",
    ],
)
def test_texts_and_numbers_that_no_saved_file_has(capsys, tmp_path, text):
    file = tmp_path / "odd.json"
    file.write_text(text)
    shown = call(capsys, "solve", "--check", file)
    assert refused(shown, "check = ") and shown.err.isascii()


def test_a_truncated_file_is_refused(capsys, tmp_path, saved):
    text, file = saved[0].read_text(), tmp_path / "short.json"
    for length in (1, len(text) // 2, len(text) - 3):
        file.write_text(text[:length])
        assert refused(call(capsys, "solve", "--check", file), f"check = {file}"[:70], "line")


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("", "Expecting value"),
        ("{", "Expecting"),
        ("[" * 100_000, "recursion"),
        ("[]", "no certified bound"),
        ("null", "no certified bound"),
        ("[1]", "row 1"),
        ('["a\\nb"]', "row 1"),
        ('{"format": "a\\nb"}', "control character"),
        ('{"format": 1, "format": 2}', "twice"),
        ("{}", "format"),
        ('{"format": "dpbounds-results/1", "claims": []}', "dpbounds-results/1"),
        ('{"format": "dpbounds-bounds/1"}', "checksum"),
    ],
)
def test_foreign_files(capsys, tmp_path, content, word):
    file = tmp_path / "foreign.json"
    file.write_text(content)
    assert refused(call(capsys, "solve", "--check", file), f"check = {file}"[:80], word)


def test_files_that_cannot_be_read(capsys, tmp_path):
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    assert refused(call(capsys, "solve", "--check", tmp_path / "bytes"), "check = ")
    assert refused(call(capsys, "solve", "--check", tmp_path / "nothing"), "No such file")
    assert refused(call(capsys, "solve", "--check", tmp_path), "a regular file")


def test_solve_needs_a_topic_or_a_file_and_not_both(capsys, saved):
    assert refused(call(capsys, "solve"), "TOPIC", "--check")
    assert refused(call(capsys, "solve", "--check", saved[0], "ftrl", "--eta", "0.1", "--kappa", "10"), "check = ")
    rows = call(capsys, "solve", "--json", *SOLVE[1:], "--mechanism", "sgd").rows
    assert rows[0]["mechanism"] == "sgd"


def certificates(saved: tuple[Path, object]) -> list[dict[str, Any]]:
    rows = json.loads(saved[0].read_text())["rows"]
    return [row["certificate"] for row in rows if row["certificate"]]


def written(folder: Path, content: object) -> Path:
    file = folder / "changed.json"
    file.write_text(json.dumps(content))
    return file
