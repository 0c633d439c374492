"""`python -m tests.power.seeds` decides as a plain run does, and computes once what draws nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.power.draws import traced
from tests.power.seeds import Once
from verify.running.executor import Serial
from verify.running.registry import claim_named
from verify.running.runner import Run
from verify.running.store import Store

CERTAIN, CHANCE = "ftrl/eq-24-mono", "iv/rem-3.8"


def _decided(names: list[str], seed: int, folder: Path, executor) -> list:
    with Store(folder) as store:
        run = Run([claim_named(name) for name in names], level="quick", seed=seed, store=store)
        run.compute(executor, resume=False)
        return [(item.verdict, item.evidence) for item in run.decide()]


class Counting(Serial):
    """Serial, and counts."""

    done = 0

    def map(self, work, items):
        self.done += len(items)
        return super().map(work, items)


@pytest.mark.parametrize("seed", [0, 5])
def test_decides_as_a_plain_run_does(seed: int, tmp_path: Path) -> None:
    once = Once(Serial(), tmp_path / "certain.jsonl")
    _decided([CERTAIN, CHANCE], seed + 1, tmp_path / "first", once)
    again = Once(Serial(), tmp_path / "certain.jsonl")
    found = _decided([CERTAIN, CHANCE], seed, tmp_path / "once", again)
    assert found == _decided([CERTAIN, CHANCE], seed, tmp_path / "plain", Serial())


def test_computes_once_what_draws_nothing(tmp_path: Path) -> None:
    workers = Counting()
    once = Once(workers, tmp_path / "certain.jsonl")
    for seed in range(3):
        _decided([CERTAIN, CHANCE], seed, tmp_path / f"{seed}", once)
    plain = Counting()
    _decided([CERTAIN, CHANCE], 0, tmp_path / "plain", plain)
    assert plain.done < workers.done < 3 * plain.done


def test_sees_whether_a_task_draws(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        run = Run([claim_named(name) for name in (CERTAIN, CHANCE)], level="quick", seed=0, store=store)
        cells = {job.claim: run._cells(job, 0) for job in run.checks if (job.form, job.check) == ("printed", 0)}
    assert any(traced(cell)[1] for cell in cells[CHANCE])
    assert not any(traced(cell)[1] for cell in cells[CERTAIN])
