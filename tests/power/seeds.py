"""Whether verdicts depend on the seed: `python -m tests.power.seeds --help`.

Every claim on which chance has a part is decided at quick level with many seeds, on all cores; what changes is counted
claim by claim. A task that drew nothing has the same result with every seed and is computed once. Each seed's outcome
is kept in a folder, and a run that was interrupted goes on from there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.power.draws import traced
from verify.checks import GaussianPrivacy, Rate, Symbolic
from verify.running.executor import Executor, Processes, Work, default_jobs
from verify.running.registry import select, topics
from verify.running.runner import Cell, Run
from verify.running.store import Store
from verify.running.versions import code_version
from verify.statements.claims import Claim

# Kinds of checks that draw nothing.
CERTAIN = (GaussianPrivacy, Rate, Symbolic)


def main() -> int:
    """Print the changed verdicts; 1 if there is more than one in 200 seeds."""
    arguments = _arguments()
    folder = Path(arguments.store)
    folder.mkdir(parents=True, exist_ok=True)
    claims = [claim for claim in select(arguments.names) if _by_chance(claim)]
    code = "-".join(code_version(topics()[name]) for name in dict.fromkeys(claim.topic for claim in claims))
    known = {record["seed"]: record for record in _journal(folder) if record["code"] == code}
    seeds = range(arguments.first, arguments.first + arguments.count)
    with Processes(arguments.jobs) as processes, (folder / "seeds.jsonl").open("a") as journal:
        workers = Once(processes, folder / f"certain-{code}.jsonl")
        for seed in seeds:
            if seed not in known:
                known[seed] = {"seed": seed, "code": code, "changed": _changed(claims, seed, folder, workers)}
                journal.write(json.dumps(known[seed]) + "\n")
                journal.flush()
                print(f"seed {seed}: {known[seed]['changed'] or 'as reviewed'}", flush=True)
    counts = Counter(claim for seed in seeds for claim in known[seed]["changed"])
    for claim, times in counts.most_common():
        print(f"{claim}: {times} times")
    print(f"{sum(counts.values())} changed verdicts of {len(claims)} claims in {len(seeds)} seeds.")
    return 1 if sum(counts.values()) > max(1, len(seeds) // 200) else 0


class Once:
    """Computes with others, and what drew nothing only once: its outcome is kept in a file."""

    def __init__(self, workers: Executor, path: Path) -> None:
        self.workers, self.path = workers, path
        lines = path.read_text().splitlines() if path.exists() else []
        self.known: dict[str, Any] = dict(json.loads(line) for line in lines)

    def map(self, work: Work, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """As `Executor.map`; `work` is that of a run, and is done under the eyes of `traced`."""
        del work
        names = [_without_seed(cell) for cell in items]
        yield from ((index, self.known[name]) for index, name in enumerate(names) if name in self.known)
        missing = [index for index, name in enumerate(names) if name not in self.known]
        with self.path.open("a") as file:
            for place, (outcome, drew) in self.workers.map(traced, [items[index] for index in missing]):
                index = missing[place]
                if not drew and "error" not in outcome:
                    self.known[names[index]] = outcome
                    file.write(json.dumps([names[index], outcome]) + "\n")
                yield index, outcome

    def __enter__(self) -> Once:
        return self

    def __exit__(self, *_: object) -> None:
        """The workers are not its own."""


def _without_seed(cell: Cell) -> str:
    job = cell.job
    return json.dumps([job.claim, job.form, job.check, job.impostor, job.data, cell.task])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.power.seeds", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TOPIC|CLAIM", help="default: all")
    parser.add_argument("--count", type=int, default=200, help="how many seeds (default: 200)")
    parser.add_argument("--first", type=int, default=1, help="the first of them (default: 1)")
    parser.add_argument(
        "--jobs", type=int, default=default_jobs(), help="worker processes (default: one per processor)"
    )
    parser.add_argument("--store", default="dpbounds-seeds", help="folder of what is done (default: %(default)s)")
    return parser.parse_args()


def _by_chance(claim: Claim) -> bool:
    checks = [check for _, checks in claim.forms() for check in checks if check.runs_at("quick")]
    return not all(isinstance(check, CERTAIN) for check in checks)


def _changed(claims: Sequence[Claim], seed: int, folder: Path, workers: Executor) -> dict[str, str]:
    """The words that differ from the reviewed ones, and failures, with one seed; its results are not kept."""
    scratch = folder / f"seed-{seed}"
    with Store(scratch) as store:
        run = Run(claims, level="quick", seed=seed, store=store)
        run.compute(workers, resume=True)
        decided = run.decide()
    shutil.rmtree(scratch)
    return {
        item.claim.id: "failed" if item.failure else item.verdict.word
        for item in decided
        if item.changed or item.failure
    }


def _journal(folder: Path) -> list[dict]:
    path = folder / "seeds.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
