"""From claims to verdicts: plan the tasks, compute what the store lacks, look again where it is unclear, conclude."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from dpbounds import DomainError
from simulators.engine import seed_sequence
from verify.certain import agreed, refuted
from verify.checks.base import Check, Level, Result, Seed, Task
from verify.checks.evidence import Evidence
from verify.checks.statistics import LOOKS
from verify.running.executor import Executor
from verify.running.registry import claim_named, index_of, topics
from verify.running.store import Store, key_of
from verify.running.versions import code_version
from verify.statements.claims import Claim
from verify.statements.clauses import Form
from verify.statements.verdicts import Verdict, decide

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One check of one claim, or one impostor of it; `data` is the digest of the user's data."""

    claim: str
    form: Form
    check: int
    impostor: str
    seed: int
    data: str


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One task of a job, with the key under which its result is stored."""

    job: Job
    task: tuple[tuple[str, Any], ...]

    @cached_property
    def key(self) -> str:
        """Does not contain the level: what quick computed, full takes over."""
        topic = topics()[self.job.claim.partition("/")[0]]
        return key_of({**asdict(self.job), "task": self.task}, code_version(topic))


@dataclass(kw_only=True)
class Decision:
    """A claim with its verdict and the evidence behind it, by form."""

    claim: Claim
    verdict: Verdict
    evidence: dict[Form, list[Evidence]] = field(default_factory=dict)
    seconds: float = 0.0
    failure: str = ""

    @property
    def changed(self) -> bool:
        """Whether the verdict differs from the reviewed one; that it was not run says nothing."""
        return not self.failure and self.verdict.word not in ("not run", self.claim.reviewed)


@dataclass(frozen=True, kw_only=True)
class Impostor:
    """One deliberately wrong version of a check, and whether the check caught it."""

    claim: str
    name: str
    kind: str
    evidence: Evidence | None
    failure: str = ""

    @property
    def caught(self) -> bool:
        """Rejected outright; `unclear` does not count."""
        return self.evidence is not None and self.evidence.outcome == "fails"


def detection_rate(judged: Sequence[Impostor]) -> float:
    """The share of impostors that was caught, 1 of none."""
    return sum(item.caught for item in judged) / len(judged) if judged else 1.0


class Run:
    """One run over some claims, or over their impostors, at a level with a seed, on a store."""

    def __init__(
        self, claims: Sequence[Claim], *, level: Level, seed: int, store: Store, impostors: bool = False
    ) -> None:
        self.claims, self.seed, self.store = claims, seed, store
        self.level: Level = level
        self.failures: dict[Job, str] = {}
        self.absent: dict[str, str] = {}
        self.checks: dict[Job, Check] = {}
        # Of every check its looks as far as they are known, and whether there are no more.
        self.looks: dict[Job, list[list[Cell]]] = {}
        self.settled: set[Job] = set()
        for claim in claims:
            self._plan(claim, impostors)

    def compute(
        self,
        executor: Executor,
        *,
        resume: bool,
        shard: tuple[int, int] | None = None,
        progress: Progress = lambda *_: None,
    ) -> int:
        """Compute all tasks and store each result as it ends; with `resume`, only those that the store lacks. Then, of
        the checks that are unclear, the tasks that they ask for, look by look. With `shard` (i, n) only every n-th task
        of the first look. Returns how many tasks there were.
        """
        known = set(self.store.records) if resume else set()
        done = 0
        for look in range(1 if shard else LOOKS):
            cells = [cell for job in self.checks for cell in self._cells(job, look)]
            cells = cells[shard[0] :: shard[1]] if shard else cells
            missing = [cell for cell in cells if cell.key not in known]
            total, done = done + len(cells), done + len(cells) - len(missing)
            groups = self._grouped(missing)
            for index, outcome in executor.map(compute, [group[0] for group in groups]):
                for number, cell in enumerate(groups[index]):
                    if "error" in outcome:
                        self.failures[cell.job] = outcome["error"]
                    else:
                        self.store.append(cell.key, outcome["result"], 0.0 if number else outcome["seconds"])
                        known.add(cell.key)
                    done += 1
                    progress(done, total, cell.job.claim)
        return done

    def decide(self) -> list[Decision]:
        """The verdicts, from the stored results; call when all is computed."""
        return [self._decide(claim) for claim in self.claims]

    def judge_impostors(self) -> list[Impostor]:
        """Which impostors were caught."""
        judged = []
        for job, check in self.checks.items():
            evidence, _ = self._conclude(job)
            failure = self.failures.get(job, "")
            kind = type(check).__name__
            judged.append(Impostor(claim=job.claim, name=job.impostor, kind=kind, evidence=evidence, failure=failure))
        return judged

    def _plan(self, claim: Claim, impostors: bool) -> None:
        """The jobs of a claim; what breaks here is its failure, and leaves the other claims theirs. Only data of the
        user's that will not do raise, `DomainError`.
        """
        job = Job(claim=claim.id, form="printed", check=0, impostor="", seed=self.seed, data="")
        reason, error = attempt(claim.missing)
        if reason:
            self.absent[claim.id] = reason
            return
        data = ""
        if not error:
            try:
                data = claim.user_data()
            except DomainError:
                raise
            except Exception:
                error = traceback.format_exc()
        if error:
            self.failures[job] = error
            return
        for form, checks in claim.forms():
            for number, check in enumerate(checks):
                if check.runs_at(self.level):
                    own = replace(job, form=form, check=number, data=data)
                    for name in check.impostors if impostors else ("",):
                        self._add(replace(own, impostor=name), check)

    def _add(self, job: Job, check: Check) -> None:
        version, error = attempt(check.impostor, job.impostor) if job.impostor else (check, "")
        if error:
            self.failures[job] = error
        else:
            self.checks[job] = version

    def _cells(self, job: Job, look: int) -> list[Cell]:
        """The tasks of one look, none if the results before it are missing or say enough."""
        looks, error = attempt(self._looks, job, look)
        if error:
            self.failures.setdefault(job, error)
            return []
        return looks[look] if len(looks) > look else []

    def _grouped(self, cells: Sequence[Cell]) -> list[list[Cell]]:
        """Cells of a claim that simulate the same, together: the first is computed, the others have its result."""
        groups: dict[Any, list[Cell]] = {}
        for number, cell in enumerate(cells):
            shared = self.checks[cell.job].shared(dict(cell.task))
            groups.setdefault(number if shared is None else (cell.job.claim, shared), []).append(cell)
        return list(groups.values())

    def _looks(self, job: Job, most: int) -> list[list[Cell]]:
        """The tasks of a check look by look, as far as stored results tell."""
        check = self.checks[job]
        if job not in self.looks:
            self.looks[job] = [_cells_of(job, check.tasks(self.level))]
        looks = self.looks[job]
        while len(looks) <= most and job not in self.settled:
            results = self._results([cell for look in looks for cell in look])
            if results is None:
                break
            further = _cells_of(job, check.more(results, self.level))
            if further:
                looks.append(further)
            else:
                self.settled.add(job)
        return looks

    def _results(self, cells: Sequence[Cell]) -> list[Result] | None:
        records = [self.store.records.get(cell.key) for cell in cells]
        return None if any(record is None for record in records) else [record["result"] for record in records if record]

    def _conclude(self, job: Job) -> tuple[Evidence | None, float]:
        """Evidence, if there is any, and the seconds spent; what breaks is kept as the job's failure."""
        if job in self.failures:
            return None, 0.0
        looks, error = attempt(self._looks, job, LOOKS - 1)
        cells = [cell for look in looks or [] for cell in look]
        results = None if error else self._results(cells)
        if results is None:
            self.failures[job] = error or "a task has no result"
            return None, 0.0
        evidence, error = attempt(self.checks[job].conclude, results, self.level)
        if error:
            self.failures[job] = error
        else:
            check = self.checks[job]
            evidence = replace(evidence, clauses=check.clauses, role=check.role)
        return evidence, sum(self.store.records[cell.key]["seconds"] for cell in cells)

    def _decide(self, claim: Claim) -> Decision:
        if claim.id in self.absent:
            return Decision(claim=claim, verdict=Verdict(word="not run", finding=self.absent[claim.id]))
        found: dict[Form, list[Evidence | None]] = {form: [None] * len(checks) for form, checks in claim.forms()}
        found.setdefault("corrected", [])
        seconds = 0.0
        for job in [job for job in self.checks if job.claim == claim.id]:
            found[job.form][job.check], spent = self._conclude(job)
            seconds += spent
        failure = next((error for job, error in self.failures.items() if job.claim == claim.id), "")
        verdict = None
        if not failure:
            verdict, failure = attempt(decide, claim, found["printed"], found["corrected"])
        if verdict is None:
            said = f"computation failed: {failure.strip().splitlines()[-1]}"
            verdict = Verdict(word="undecided", finding=said)
        evidence: dict[Form, list[Evidence]] = {
            form: [item for item in items if item is not None] for form, items in found.items()
        }
        return Decision(claim=claim, verdict=verdict, evidence=evidence, seconds=seconds, failure=failure)


def compute(cell: Cell) -> dict[str, Any]:
    """The result of a cell with the time it took, or the error; runs in a worker. Loading the claim is not counted."""
    claim, error = attempt(claim_named, cell.job.claim)
    if error:
        return {"error": error}
    started = time.perf_counter()
    result, error = attempt(_result_of, cell, claim)
    return {"error": error} if error else {"result": result, "seconds": time.perf_counter() - started}


def attempt(function: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """(value, "") or (None, traceback): a check that breaks is reported as a failed computation and leaves the others
    theirs.
    """
    try:
        return function(*arguments), ""
    except Exception:
        return None, traceback.format_exc()


def _cells_of(job: Job, tasks: Sequence[Task]) -> list[Cell]:
    return [Cell(job=job, task=tuple(sorted(task.items()))) for task in tasks]


def _result_of(cell: Cell, claim: Claim) -> Result:
    job = cell.job
    check = dict(claim.forms())[job.form][job.check]
    check = check.impostor(job.impostor) if job.impostor else check
    own = Seed(job.seed, seed_sequence([job.claim, job.form, job.check, job.impostor, cell.task], seed=job.seed))
    result = check.run(dict(cell.task), own)
    if job.impostor or not getattr(check, "closed", False):
        return result
    place = index_of(job.claim.partition("/")[0])[job.claim].module, job.claim, job.form, job.check
    found = check.broken_by(result)
    certain = agreed(*place, own.generator()) if found is None else refuted(*place, found, own.generator())
    return {**result, "certain": certain}
