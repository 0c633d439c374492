"""From claims to verdicts: plan the tasks, compute those that the store lacks, conclude."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from simulators.engine import seed_sequence
from verify.checks.base import Check, Level, Result, Seed
from verify.claims import Claim, Form, registry
from verify.evidence import Evidence, Verdict, decide
from verify.executor import Executor
from verify.store import Store, key_of

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One task of one check, with the key under which its result is stored; `data` is the digest of the user's data."""

    claim: str
    form: Form
    check: int
    impostor: str
    task: tuple[tuple[str, Any], ...]
    seed: int
    data: str

    @property
    def key(self) -> str:
        """Does not contain the level: what quick computed, full takes over."""
        return key_of(asdict(self))


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A computation that raised an exception: not a verdict."""

    claim: str
    message: str


@dataclass(kw_only=True)
class Decided:
    """A claim with its verdict and the evidence behind it, by form."""

    claim: Claim
    verdict: Verdict
    evidence: dict[Form, list[Evidence]] = field(default_factory=dict)
    seconds: float = 0.0
    failure: str = ""

    @property
    def changed(self) -> bool:
        """Whether a verdict was reached and differs from the reviewed one."""
        return self.verdict.word in ("confirmed", "refuted", "corrected") and self.verdict.word != self.claim.reviewed


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


class Run:
    """One run over some claims at a level with a seed, on a store."""

    def __init__(self, claims: Sequence[Claim], *, level: Level, seed: int, store: Store) -> None:
        self.claims, self.seed, self.store = claims, seed, store
        self.level: Level = level
        self.failures: dict[Cell, str] = {}

    def compute(
        self, cells: Sequence[Cell], executor: Executor, *, resume: bool, progress: Progress = lambda *_: None
    ) -> None:
        """Compute the cells and store each result as it ends; with `resume`, only those that the store lacks."""
        keys = {cell: cell.key for cell in cells}
        known = {cell for cell in cells if resume and keys[cell] in self.store.records}
        missing = [cell for cell in cells if cell not in known]
        done = len(known)
        progress(done, len(cells), "")
        for index, outcome in executor.map(compute, missing):
            cell = missing[index]
            if "error" in outcome:
                self.failures[cell] = outcome["error"]
            else:
                self.store.append(keys[cell], outcome["result"], outcome["seconds"])
            done += 1
            progress(done, len(cells), cell.claim)

    def cells(self) -> list[Cell]:
        """The tasks of every check of every claim at this level."""
        return [
            cell
            for claim in self.claims
            for form, checks in claim.forms()
            for number, check in enumerate(checks)
            if check.runs_at(self.level)
            for cell in self._cells_of(claim, form, number, check, "")
        ]

    def impostor_cells(self) -> list[Cell]:
        """The tasks of every impostor of every check at this level."""
        return [
            cell
            for claim, form, number, check, name in self._impostors()
            for cell in self._cells_of(claim, form, number, check.impostor(name), name)
        ]

    def decide(self) -> list[Decided]:
        """The verdicts, from the stored results; call when all cells are computed."""
        return [self._decide(claim) for claim in self.claims]

    def judge_impostors(self) -> list[Impostor]:
        """Which impostors were caught."""
        judged = []
        for claim, form, number, check, name in self._impostors():
            evidence, failure, _ = self._conclude(claim, form, number, check.impostor(name), name)
            judged.append(
                Impostor(claim=claim.id, name=name, kind=type(check).__name__, evidence=evidence, failure=failure)
            )
        return judged

    def _decide(self, claim: Claim) -> Decided:
        evidence: dict[Form, list[Evidence]] = {"printed": [], "corrected": []}
        seconds, failures = 0.0, []
        for form, checks in claim.forms():
            for number, check in enumerate(checks):
                if check.runs_at(self.level):
                    found, failure, spent = self._conclude(claim, form, number, check, "")
                    seconds += spent
                    failures += [failure] if failure else []
                    evidence[form] += [found] if found else []
        if failures:
            verdict = Verdict(word="undecided", finding=f"computation failed: {failures[0].splitlines()[-1]}")
            return Decided(claim=claim, verdict=verdict, evidence=evidence, seconds=seconds, failure=failures[0])
        reason = claim.not_run or f"needs level {claim.level}"
        correction = claim.correction.statement if claim.correction else ""
        verdict = decide(evidence["printed"], evidence["corrected"], correction, reason)
        return Decided(claim=claim, verdict=verdict, evidence=evidence, seconds=seconds)

    def _conclude(
        self, claim: Claim, form: Form, number: int, check: Check, impostor: str
    ) -> tuple[Evidence | None, str, float]:
        """Evidence or the reason why there is none, and the seconds spent."""
        records = []
        for cell in self._cells_of(claim, form, number, check, impostor):
            record = self.store.records.get(cell.key)
            if record is None:
                return None, self.failures.get(cell, "a task has no result"), 0.0
            records.append(record)
        seconds = sum(record["seconds"] for record in records)
        evidence, error = attempt(check.conclude, [record["result"] for record in records], self.level)
        return evidence, error, seconds

    def _cells_of(self, claim: Claim, form: Form, number: int, check: Check, impostor: str) -> Iterable[Cell]:
        data = claim.user_data()
        for task in check.tasks(self.level):
            yield Cell(
                claim=claim.id,
                form=form,
                check=number,
                impostor=impostor,
                task=tuple(sorted(task.items())),
                seed=self.seed,
                data=data,
            )

    def _impostors(self) -> Iterable[tuple[Claim, Form, int, Check, str]]:
        for claim in self.claims:
            for form, checks in claim.forms():
                for number, check in enumerate(checks):
                    if check.runs_at(self.level):
                        for name in check.impostors:
                            yield claim, form, number, check, name


def compute(cell: Cell) -> dict[str, Any]:
    """The result of a cell with the time it took, or the error; runs in a worker."""
    started = time.perf_counter()
    result, error = attempt(_result_of, cell)
    return {"error": error} if error else {"result": result, "seconds": time.perf_counter() - started}


def attempt(function: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """(value, "") or (None, traceback): a check that breaks is reported as a failed computation and leaves the others
    theirs.
    """
    try:
        return function(*arguments), ""
    except Exception:
        return None, traceback.format_exc()


def _result_of(cell: Cell) -> Result:
    claim = registry()[cell.claim]
    check = dict(claim.forms())[cell.form][cell.check]
    check = check.impostor(cell.impostor) if cell.impostor else check
    own = seed_sequence([cell.claim, cell.form, cell.check, cell.impostor, cell.task], seed=cell.seed)
    return check.run(dict(cell.task), Seed(cell.seed, own))
