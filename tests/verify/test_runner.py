"""The same numbers whatever the number of workers, the order of work, the shards, or kills in between."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from verify import results
from verify.checks import Agreement, Fact
from verify.claims import Claim, Correction, select
from verify.evidence import Evidence, decide
from verify.executor import Processes, Serial
from verify.runner import Decided, Run
from verify.store import Store

NAMES = ["ftrl/thm-2.1-dpsgd", "ftrl/fig-1-mid", "ftrl/b-betarate", "ftrl/thm-2.1-privacy", "ftrl/eq-19", "ftrl/eq-14"]
COMMAND = [sys.executable, "-c", "import sys; from verify.cli import main; sys.exit(main())", "verify", *NAMES]


def run(folder: Path, executor=None, *, seed: int = 0, resume: bool = False, names=NAMES) -> bytes:
    with Store(folder) as store:
        session = Run(select(names), level="quick", seed=seed, store=store)
        session.compute(session.cells(), executor or Serial(), resume=resume)
        return results.write(folder, session.decide(), level="quick", seed=seed).read_bytes()


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> bytes:
    return run(tmp_path_factory.mktemp("serial"))


def test_processes_give_the_same_bytes(reference, tmp_path):
    assert run(tmp_path, Processes(2)) == reference


def test_another_seed_gives_other_numbers(reference, tmp_path):
    assert run(tmp_path, seed=1, names=["ftrl/fig-1-mid"]) not in reference


def test_shards_join_to_the_same_bytes(reference, tmp_path):
    for part in (1, 0):
        with Store(tmp_path, f"-{part}-of-2") as store:
            session = Run(select(NAMES), level="quick", seed=0, store=store)
            session.compute(session.cells()[part::2], Serial(), resume=False)
    assert run(tmp_path, resume=True) == reference


def test_resume_computes_only_what_is_missing(tmp_path):
    run(tmp_path, names=NAMES[:1])
    seen = []
    with Store(tmp_path) as store:
        known = set(store.records)
        session = Run(select(NAMES[:3]), level="quick", seed=0, store=store)
        session.compute(
            session.cells(), Serial(), resume=True, progress=lambda done, total, _: seen.append((done, total))
        )
    assert seen[0] == (len(known), len(session.cells())) and seen[-1][0] == seen[-1][1]


def test_ten_kills_and_a_resume_give_the_same_bytes(reference, tmp_path):
    """SIGKILL to the whole process group at random moments; workers do not survive it."""
    rng = random.Random(0)
    for attempt in range(10):
        flags = ["--store", str(tmp_path), "--jobs", "2", *(["--resume"] if attempt else [])]
        process = subprocess.Popen([*COMMAND, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 3.0))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert run(tmp_path, resume=True) == reference


def test_ctrl_c_keeps_what_was_computed(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "--store", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    journal = tmp_path / "tasks.jsonl"
    while not (journal.exists() and journal.stat().st_size) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (0, 130)
    assert "Traceback" not in errors
    with Store(tmp_path) as store:
        assert store.records


# --- verdicts ---


def found(outcome, how="numeric", slack=None) -> Evidence:
    return Evidence(outcome=outcome, how=how, summary=f"{outcome} by {how}.", slack=slack, needed="more trials")


@pytest.mark.parametrize(
    ("printed", "corrected", "word", "how"),
    [
        ([], [], "not run", None),
        ([found("holds", "proved"), found("holds", "statistical")], [], "confirmed", "statistical"),
        ([found("holds"), found("fails", "statistical")], [], "refuted", "statistical"),
        ([found("fails")], [found("holds", "certified")], "corrected", "certified"),
        ([found("fails")], [found("holds"), found("unclear")], "refuted", "numeric"),
        ([found("unclear"), found("fails")], [], "refuted", "numeric"),
        ([found("holds"), found("unclear")], [found("holds")], "undecided", "numeric"),
    ],
)
def test_verdicts_follow_from_evidence(printed, corrected, word, how):
    verdict = decide(printed, corrected, "so and so", "no data")
    assert (verdict.word, verdict.how) == (word, how)


def test_verdicts_carry_their_reasons():
    assert decide([], [], reason="no data").finding == "no data"
    assert decide([found("unclear")], []).finding == "more trials"
    assert decide([found("holds", slack=1.5), found("holds", slack=1.1)], []).slack == 1.1
    assert "Holds when corrected: so" in decide([found("fails")], [found("holds")], "so").finding


def synthetic(value: float, reviewed="confirmed", correction=None) -> Claim:
    check = Agreement(facts=lambda rng: [Fact("value", value, 1.0)])
    return Claim(
        id="x/y", where="", kind="number", statement="", checks=(check,), reviewed=reviewed, correction=correction
    )


@pytest.mark.parametrize(
    ("reviewed", "word", "changed"),
    [("confirmed", "refuted", True), ("refuted", "refuted", False), ("confirmed", "undecided", False)],
)
def test_a_changed_verdict_is_noticed(reviewed, word, changed):
    verdict = decide([found({"refuted": "fails", "undecided": "unclear"}[word])], [])
    assert Decided(claim=synthetic(1.0, reviewed), verdict=verdict).changed is changed


def test_a_check_that_breaks_is_a_failure_and_not_a_verdict(tmp_path, monkeypatch):
    broken = Agreement(facts=lambda rng: [Fact("value", 1 / 0, 1.0)])
    fine = synthetic(
        2.0,
        correction=Correction(statement="it is 2", checks=(Agreement(facts=lambda rng: [Fact("value", 2.0, 2.0)]),)),
    )
    claims = [Claim(id="x/z", where="", kind="number", statement="", checks=(broken,)), fine]
    monkeypatch.setattr("verify.runner.registry", lambda: {claim.id: claim for claim in claims})
    with Store(tmp_path) as store:
        session = Run(claims, level="quick", seed=0, store=store)
        session.compute(session.cells(), Serial(), resume=False)
        first, second = session.decide()
    assert first.verdict.word == "undecided" and "ZeroDivisionError" in first.failure
    assert second.verdict.word == "corrected" and not second.failure
