"""The same numbers whatever the number of workers, the order of work, the shards, or kills in between."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dpbounds import DomainError
from simulators.engine import Experiment
from tests.verify.cli.commands import started
from verify.checks import Agreement, Case, Fact, Means, MonteCarlo
from verify.checks.evidence import Evidence
from verify.checks.statistics import LOOKS
from verify.running import results
from verify.running.executor import Dask, Processes, Serial
from verify.running.registry import select
from verify.running.runner import Decision, Run, compute
from verify.running.store import Store
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.topics import Topic
from verify.statements.verdicts import decide

NAMES = ["ftrl/thm-2.1-dpsgd", "ftrl/fig-1-mid", "ftrl/b-betarate", "ftrl/thm-2.1-privacy", "ftrl/eq-19", "ftrl/eq-14"]


def run(folder: Path, executor=None, *, seed: int = 0, resume: bool = False, names=NAMES) -> bytes:
    with Store(folder) as store:
        session = Run(select(names), level="quick", seed=seed, store=store)
        with executor or Serial() as workers:
            session.compute(workers, resume=resume)
        return results.write(folder, session.decide(), level="quick", seed=seed).read_bytes()


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Not here: the runner itself sees to it, or its bytes would be others."""


@pytest.fixture(scope="module")
def reference(tmp_path_factory) -> bytes:
    return run(tmp_path_factory.mktemp("serial"))


def test_processes_give_the_same_bytes(reference, tmp_path):
    assert run(tmp_path, Processes(2)) == reference


class Watched(Serial):
    """Keeps what it was asked to compute."""

    def __init__(self):
        self.items = []

    def map(self, work, items):
        self.items += items
        yield from super().map(work, items)


def test_checks_of_a_claim_share_the_runs_that_they_have_in_common(tmp_path):
    """Both forms of the claim read the same runs: each block is simulated once, and is what it would be alone."""
    (claim,), workers = select(["glm/exp-slope-n"]), Watched()
    with Store(tmp_path) as store:
        session = Run([claim], level="quick", seed=0, store=store)
        session.compute(workers, resume=False)
        cells = [cell for looks in session.looks.values() for look in looks for cell in look]
        saved = [cell for cell in cells if cell not in workers.items]
        assert len(store.records) == len(cells) > len(workers.items)
        assert len(saved) == 24
        assert len({cell.job.form for cell in saved}) == 1
        for cell in saved[::12]:
            assert store.records[cell.key]["result"] == compute(cell)["result"]


def test_a_dask_cluster_gives_the_same_bytes(reference, tmp_path):
    """A scheduler and a worker in threads of this process; what is sent and how is that of a real cluster."""
    distributed = pytest.importorskip("distributed")
    asked = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**asked, protocol="tcp", host="tcp://127.0.0.1") as cluster:
        assert run(tmp_path, Dask(cluster.scheduler_address)) == reference


def test_another_seed_gives_other_numbers(reference, tmp_path):
    assert run(tmp_path, seed=1, names=["ftrl/fig-1-mid"]) not in reference


def test_shards_join_to_the_same_bytes(reference, tmp_path):
    for part in (1, 0):
        with Store(tmp_path, f"-{part}-of-2") as store:
            session = Run(select(NAMES), level="quick", seed=0, store=store)
            session.compute(Serial(), resume=False, shard=(part, 2))
    assert run(tmp_path, resume=True) == reference


def test_resume_computes_only_what_is_missing(tmp_path):
    run(tmp_path, names=NAMES[:1])
    seen = []
    with Store(tmp_path) as store:
        known = set(store.records)
        session = Run(select(NAMES[:3]), level="quick", seed=0, store=store)
        tasks = session.compute(Serial(), resume=True, progress=lambda done, total, _: seen.append((done, total)))
    assert seen[0] == (len(known) + 1, tasks) and seen[-1] == (tasks, tasks)


def test_ten_kills_and_a_resume_give_the_same_bytes(reference, tmp_path):
    """SIGKILL to the whole process group at random moments of the work; the first time while its workers start."""
    rng = random.Random(0)
    for attempt in range(10):
        flags = ["--resume", "--jobs", "1"] if attempt else ["--jobs", "2"]
        process = started("verify", *NAMES, "--store", str(tmp_path), *flags, cwd=tmp_path)
        time.sleep(rng.uniform(0.02, 0.4) if attempt else 1.0)
        os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
    assert run(tmp_path, resume=True) == reference


def test_ctrl_c_keeps_what_was_computed(tmp_path):
    shown = tmp_path / "out", tmp_path / "err"
    process = started("verify", *NAMES, "--jobs", "1", "--store", str(tmp_path), cwd=tmp_path, files=shown)
    journal = tmp_path / "tasks.jsonl"
    while not (journal.exists() and journal.stat().st_size) and process.is_alive():
        time.sleep(0.01)
    os.kill(process.pid or 0, signal.SIGINT)
    process.join(60)
    assert process.exitcode in (0, 130)
    assert "Traceback" not in shown[1].read_text()
    with Store(tmp_path) as store:
        assert store.records


# --- looks ---


@dataclass(frozen=True)
class Normal:
    mean: float


def draws(problem, settings, streams, trials):
    return {"value": problem.mean + streams.data.standard_normal(trials)}


def simulated(stated: float, trials: int) -> MonteCarlo:
    experiment = Experiment(algorithm=draws, problem=Normal(1.0), settings=None, block_trials=50)
    case = Case(label="mean", experiment=experiment, output="value", predicted=lambda: stated, relative_std=1.0)
    return MonteCarlo(means=Means(cases=lambda: [case], trials={"quick": trials}), resolution={"quick": 0.1})


@pytest.mark.parametrize(("trials", "looks"), [(8000, 1), (2000, 4), (200, LOOKS)])
def test_what_is_unclear_is_looked_at_again(alone, trials, looks):
    """A mean of 1 with standard deviation 1, to 10 %: about 5,000 trials decide; 8 times 200 do not."""
    (decided,) = alone([claim(checks=(simulated(1.0, trials),))])
    (evidence,) = decided.evidence["printed"]
    assert evidence.trials == trials * 2 ** (looks - 1) or (looks == 4 and 4000 <= evidence.trials <= 16000)
    assert decided.verdict.word == ("undecided" if looks == LOOKS and trials == 200 else "confirmed")
    assert evidence.alpha == pytest.approx(1e-9)


def test_looks_again_resume_and_impostors(alone):
    false = claim(checks=(simulated(1.3, 400),), fault=FAULT, page=1)
    (first,) = alone([false])
    (second,) = alone([false], resume=True)
    assert first.verdict == second.verdict and first.verdict.word == "refuted"


# --- verdicts ---

FAULT = Fault(severity="slip", touches="statement", finding="It is not so.", consequence="None.")


def claim(id="x/y", **fields) -> Claim:
    return Claim(**{"id": id, "where": "here", "kind": "number", "statement": "So.", **fields})


def stated(*values: float) -> tuple[Agreement, ...]:
    """Checks that hold for 1 and fail for anything else."""
    return tuple(Agreement(facts=lambda rng, value=value: [Fact("value", value, 1.0)]) for value in values)


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """Decide claims that are no topic's."""

    def decided(claims, *, resume=False, **options):
        known = {item.id: item for item in claims}
        monkeypatch.setattr("verify.running.runner.claim_named", known.__getitem__)
        topic = Topic(name="x", package="verify.checks", sources=(), title="X")
        monkeypatch.setattr("verify.running.runner.topics", lambda: {"x": topic})
        with Store(tmp_path) as store:
            session = Run(claims, level="quick", seed=0, store=store, **options)
            session.compute(Serial(), resume=resume)
            return session.decide()

    return decided


def found(outcome, how="numeric", slack=None) -> Evidence:
    return Evidence(
        outcome=outcome, how=how, summary=f"{outcome} by {how}.", alpha=0.0, slack=slack, needed="more trials"
    )


@pytest.mark.parametrize(
    ("printed", "corrected", "word", "how"),
    [
        ([None], None, "not run", None),
        ([found("holds", "proved"), found("holds", "statistical")], None, "confirmed", "statistical"),
        ([found("holds"), found("fails", "statistical")], None, "refuted", "statistical"),
        ([found("fails")], [found("holds", "certified")], "corrected", "certified"),
        ([found("fails")], [found("holds"), found("unclear")], "undecided", "numeric"),
        ([found("fails")], [found("holds"), found("fails", "certified")], "refuted", "certified"),
        ([found("fails")], [None], "undecided", "numeric"),
        ([found("unclear"), found("fails")], None, "refuted", "numeric"),
        ([found("holds"), found("unclear")], [found("holds")], "undecided", "numeric"),
    ],
)
def test_verdicts_follow_from_evidence(printed, corrected, word, how):
    mended = None if corrected is None else Correction(statement="Thus.", checks=stated(1.0) * len(corrected))
    fault = None if mended is None else FAULT
    verdict = decide(
        claim(checks=stated(1.0) * len(printed), correction=mended, fault=fault, page=1), printed, corrected or []
    )
    assert (verdict.word, verdict.how) == (word, how)


def test_a_correction_has_two_grounds():
    """The strongest counterexample refutes, the weakest check of the correction confirms it."""
    mended = Correction(statement="Thus.", checks=stated(1.0) * 2)
    printed = [found("fails", "statistical"), found("fails", "certified"), found("holds", "proved")]
    verdict = decide(
        claim(checks=stated(1.0) * 3, correction=mended, fault=FAULT, page=1),
        printed,
        [found("holds", "proved"), found("holds")],
    )
    assert (verdict.word, verdict.refutation, verdict.how) == ("corrected", "certified", "numeric")
    assert decide(claim(checks=stated(1.0)), [found("holds")], []).refutation is None


def test_verdicts_carry_their_reasons():
    plain, twice = (claim(checks=stated(1.0) * number, remark="Read kindly.") for number in (1, 2))
    assert decide(claim(not_run="no data"), [], []).finding == "no data"
    assert decide(plain, [found("unclear")], []).finding == "more trials"
    held = decide(twice, [found("holds", slack=1.5), found("holds", slack=1.1)], [])
    assert held.slack == 1.1 and held.remark == "Read kindly."
    mended = claim(
        checks=stated(2.0), fault=FAULT, page=3, correction=Correction(statement="Thus.", checks=stated(1.0))
    )
    known = decide(mended, [found("fails")], [found("holds")])
    assert (known.finding, known.severity) == ("It is not so.", "slip")
    broken = decide(mended, [found("fails")], [found("fails", "certified")])
    assert broken.finding == "The correction fails: fails by certified." and broken.severity is None
    unclear = decide(mended, [found("fails")], [found("unclear")])
    assert "False as printed" in unclear.finding and "more trials" in unclear.finding


def test_each_clause_has_its_verdict():
    """The strongest that fails refutes a clause, the weakest that holds confirms it; what no check names is open."""
    checks = [
        replace(check, decides=letters) for check, letters in zip(stated(1.0) * 4, ("a", "ab", "b", "c"), strict=True)
    ]
    one = claim(statement=("One.", "Two.", "Three.", "Four."), checks=tuple(checks))
    evidence = [found("holds", "proved"), found("holds"), found("fails", "certified"), None]
    verdict = decide(one, evidence, [])
    words = [(item.letter, item.word, item.how) for item in verdict.clauses]
    assert words == [
        ("a", "holds", "numeric"),
        ("b", "fails", "certified"),
        ("c", "not run", None),
        ("d", "open", None),
    ]
    assert verdict.open_clauses == ()  # it is refuted
    evidence[2] = found("holds")
    assert [item.text for item in decide(one, evidence, []).open_clauses] == ["Four."]


def test_open_clauses_are_those_of_the_correction_that_holds():
    mended = Correction(statement=("It is ${n}$.", "Or not."), checks=(replace(stated(1.0)[0], decides="a"),))
    one = claim(statement=("One.", "Two."), checks=(replace(stated(2.0)[0], decides="a"),), fault=FAULT, page=1)
    verdict = decide(replace(one, correction=mended, given={"n": 12.5}), [found("fails")], [found("holds")])
    assert verdict.correction == "(a) It is $12.5$. (b) Or not."
    assert [(item.form, item.letter) for item in verdict.open_clauses] == [("corrected", "b")]
    assert [item.text for item in verdict.clauses][2:] == ["It is $12.5$.", "Or not."]


def test_texts_take_numbers_of_all_evidence(alone):
    """Not one that two facts use for different numbers."""
    facts = [Fact("one", 1.0, 1.0, numbers={"n": 5, "k": 1}), Fact("two", 1.0, 1.0, numbers={"ratio": 1.25, "k": 2})]
    one = claim(checks=(Agreement(facts=lambda rng: facts),), remark="At $n = {n}$, ${ratio}$.")
    assert alone([one])[0].verdict.remark == "At $n = 5$, $1.25$."
    (decided,) = alone([replace(one, remark="${k}$")])
    assert "k" in decided.failure and decided.verdict.word == "undecided"


def test_findings_take_their_numbers_from_the_exhibit(alone):
    fault = replace(FAULT, finding="At $n = {n}$ it is ${observed:2}$, not ${predicted}$.", exhibit=1)
    wrong = Agreement(facts=lambda rng: [Fact("value", 1.2345e-7, 1.0, numbers={"n": 5})])
    (decided,) = alone([claim(checks=(*stated(1.0), wrong), fault=fault, page=1)])
    assert decided.verdict.finding == "At $n = 5$ it is $1.2 dot 10^(-7)$, not $1$."


def test_a_finding_that_names_no_number_is_a_failure(alone):
    fault = replace(FAULT, finding="At $n = {nothing}$.")
    (decided,) = alone([claim(checks=stated(2.0), fault=fault, page=1)])
    assert "nothing" in decided.failure and decided.verdict.word == "undecided"


@pytest.mark.parametrize(
    ("reviewed", "word", "changed"),
    [
        ({}, "refuted", True),
        ({"fault": FAULT, "page": 1}, "refuted", False),
        ({}, "undecided", True),
        ({"open": "Too hard."}, "undecided", False),
        ({}, "not run", False),
    ],
)
def test_a_changed_verdict_is_noticed(reviewed, word, changed):
    one = claim(checks=stated(1.0), **reviewed)
    evidence = {"refuted": [found("fails")], "undecided": [found("unclear")], "not run": [None]}[word]
    assert Decision(claim=one, verdict=decide(one, evidence, [])).changed is changed


def test_what_breaks_is_a_failure_and_leaves_the_others_theirs(alone):
    def broken(*_):
        raise ZeroDivisionError("on purpose")

    computing = claim("x/computing", checks=(Agreement(facts=broken),))
    planning = claim("x/planning", checks=(MonteCarlo(means=Means(cases=broken)),))
    data = claim("x/data", checks=stated(1.0), user_data=broken)
    fine = claim(
        "x/fine", checks=stated(2.0), fault=FAULT, page=1, correction=Correction(statement="2.", checks=stated(1.0))
    )
    *failed, last = alone([computing, planning, data, fine])
    for decided in failed:
        assert decided.verdict.word == "undecided" and "ZeroDivisionError: on purpose" in decided.failure
    assert last.verdict.word == "corrected" and not last.failure


def test_what_needs_data_or_an_extra_that_is_missing_is_not_run(alone):
    (decided,) = alone([claim(checks=stated(1.0), missing=lambda: "needs a thing")])
    assert (decided.verdict.word, decided.verdict.finding, decided.changed) == ("not run", "needs a thing", False)


def test_a_claim_says_where_its_fault_is():
    with pytest.raises(DomainError, match=r"page of x/y = 0"):
        claim(checks=stated(2.0), fault=FAULT)
