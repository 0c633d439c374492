"""Which mistakes in theory and simulators `dpbounds verify` notices: `python -m tests.power.mutants --help`.

For each of some random single edits (see `edits`) the claims that reach the edited line are decided at quick level,
cheapest first, until a verdict changes or a computation fails (see `judge`). Survivors are then shown to the tests of
their room, in a copy of the tree. What is done is kept in a folder, and a run that was interrupted goes on from there.
Survivors that change nothing (`equivalents.txt`, with the reason) are not counted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.power.edits import Edit, chosen, edits_of
from tests.power.judge import Trial, judged, load
from verify.running.registry import select, topics
from verify.running.versions import code_version

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dpbounds", "simulators")
COPIED = ("dpbounds", "simulators", "verify", "reports", "tests", "pyproject.toml")
# A judgement counts as hanging, which is noticed, after so many seconds and so many times what its claims take.
PATIENCE, SLOWER = 240, 6
# The same of tests, whose time is not known.
TESTS_PATIENCE = 1800
Place = tuple[str, int]
EQUIVALENTS = Path(__file__).with_name("equivalents.txt")


def main() -> int:
    """Print every mutant's fate, the survivors and the share that was caught; 1 if some survive unexplained."""
    arguments = _arguments()
    folder = Path(arguments.store)
    folder.mkdir(parents=True, exist_ok=True)
    mutants = chosen(_edits(arguments.names, arguments.under), arguments.count, arguments.seed)
    code = "-".join(code_version(topic) for topic in topics().values())
    known = {_place(record): record for record in _journal(folder) if record["code"] == code}
    with (folder / "mutants.jsonl").open("a") as journal:
        for record in _fates(mutants, known, folder, arguments):
            known[_place(record)] = {**record, "code": code}
            journal.write(json.dumps(known[_place(record)]) + "\n")
            journal.flush()
            print(f"{record['verify']:9} {record['tests']:9} {record['name']}", flush=True)
    return _summary([known[edit.name, edit.start] for edit in mutants])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.power.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TOPIC|CLAIM", help="the claims that judge (default: all)")
    parser.add_argument(
        "--under", action="append", default=[], metavar="PATH", help="only files there, such as dpbounds/iv/confidence"
    )
    parser.add_argument("--count", type=int, default=200, help="how many mutants (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time (default: one per processor)")
    parser.add_argument("--store", default="dpbounds-mutants", help="folder of what is done (default: %(default)s)")
    parser.add_argument("--no-tests", dest="tests", action="store_false", help="do not show survivors to the tests")
    return parser.parse_args()


def _edits(names: Sequence[str], under: Sequence[str]) -> list[Edit]:
    """In the rooms of the claims' topics and in what they share, where some claim comes by or none does."""
    mine = _topics_of(names)
    others = {folder for name, topic in topics().items() if name not in mine for folder in _rooms(topic.sources)}
    files = [file.relative_to(ROOT).as_posix() for layer in LAYERS for file in sorted((ROOT / layer).rglob("*.py"))]
    files = [file for file in files if not any(file.startswith(f"{room}/") for room in others)]
    if under:
        files = [file for file in files if any(Path(file).is_relative_to(place) for place in under)]
    return [edit for file in files for edit in edits_of(ROOT, file)]


def _topics_of(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(claim.topic for claim in select(names)))


def _rooms(sources: Sequence[str]) -> list[str]:
    return [source.replace(".", "/") for source in sources]


def _map(folder: Path, names: Sequence[str], jobs: int) -> dict[str, Any]:
    """Which claims reach which lines, and how long each takes; made once for each topic, in processes of their own."""
    chosen_names = hashlib.sha256(" ".join(names).encode()).hexdigest()[:8]
    versions = {name: code_version(topics()[name])[:8] for name in _topics_of(names)}
    paths = {name: folder / f"reach-{name}-{version}-{chosen_names}.json" for name, version in versions.items()}

    def made(name: str) -> dict[str, Any]:
        claims = [claim.id for claim in select(names) if claim.topic == name]
        if not paths[name].exists():
            subprocess.run([sys.executable, "-m", "tests.power.reach", str(paths[name]), *claims], cwd=ROOT, check=True)
        return json.loads(paths[name].read_text())

    lines: dict[str, dict[str, list[str]]] = {}
    seconds: dict[str, float] = {}
    with ThreadPoolExecutor(jobs) as pool:
        for one in pool.map(made, paths):
            seconds |= one["seconds"]
            for file, reach in one["lines"].items():
                known = lines.setdefault(file, {})
                for line, claims in reach.items():
                    known[line] = [*known.get(line, []), *claims]
    return {"lines": lines, "seconds": seconds}


def _journal(folder: Path) -> list[dict[str, Any]]:
    path = folder / "mutants.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _fates(
    mutants: Sequence[Edit], known: Mapping[Place, Any], folder: Path, arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Whether claims notice the mistakes of which that is not known, and then tests those that claims do not."""
    missing = [edit for edit in mutants if (edit.name, edit.start) not in known]
    unseen = [edit for edit in mutants if edit not in missing and _survives(known[edit.name, edit.start])]
    if missing:
        reached = _map(folder, arguments.names, arguments.jobs)
        load(ROOT, LAYERS)
        for edit, record in _before_claims(missing, reached, arguments.jobs):
            yield record
            unseen += [edit] if _survives(record) else []
    if arguments.tests:
        telling = [edit for edit in unseen if edit.name not in _equivalents()]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for edit, tests in zip(telling, pool.map(_before_tests, telling), strict=True):
                yield {**known[edit.name, edit.start], "tests": tests}


def _place(record: Mapping[str, Any]) -> Place:
    """The same mistake may be made in two places of a file."""
    return record["name"], record["start"]


def _survives(record: Mapping[str, Any]) -> bool:
    """Claims missed it, and no test has seen it."""
    return record["verify"] == "missed" and not record["tests"]


def _before_claims(
    mutants: Sequence[Edit], reached: Mapping[str, Any], jobs: int
) -> Iterator[tuple[Edit, dict[str, Any]]]:
    """What the claims that come by a line say of its mistake, cheapest first."""
    seconds = reached["seconds"]
    trials = {}
    for edit in mutants:
        by_line = reached["lines"].get(edit.file, {})
        # A line that only children of a claim run is not in the map: all claims that come by its file judge it.
        near = by_line.get(str(edit.line)) or {claim for claims in by_line.values() for claim in claims}
        claims = sorted(near, key=seconds.__getitem__)
        source = edit.applied((ROOT / edit.file).read_bytes())
        patience = PATIENCE + SLOWER * sum(seconds[claim] for claim in claims)
        trials[Trial(edit.name, ROOT / edit.file, source, tuple(claims), patience)] = edit
    for trial, reason in judged(trials, jobs):
        edit, noticed = trials[trial], "noticed" if reason else "missed"
        record = {"name": edit.name, "start": edit.start, "claims": len(trial.claims), "by": reason}
        yield edit, {**record, "verify": noticed, "tests": ""}


def _before_tests(edit: Edit) -> str:
    """Whether the tests of the rooms around it fail in a copy of the tree that has the mistake."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        for part in COPIED:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, tree / part)
        (tree / edit.file).write_bytes(edit.applied((ROOT / edit.file).read_bytes()))
        options = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", *_tests_of(edit.file)]
        environment = os.environ | {"PYTHONPATH": scratch, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        try:
            run = subprocess.run(
                [sys.executable, "-m", "pytest", *options],
                cwd=tree,
                env=environment,
                capture_output=True,
                timeout=TESTS_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return "noticed"
    return "noticed" if run.returncode else "missed"


def _tests_of(file: str) -> list[str]:
    """The tests of the file's layer that are not another room's, and those of its topic in the other layers; those that
    name the file first, since they are the likeliest to fail.
    """
    layer, _, rest = file.partition("/")
    room = rest.partition("/")[0]
    found = sorted((ROOT / "tests" / layer).glob("test_*.py"))
    for other in ("dpbounds", "simulators", "verify"):
        found += sorted((ROOT / "tests" / other / room).rglob("test_*.py"))
    names = re.compile(rf"^(from|import)\b.*\b{Path(file).stem}\b", re.MULTILINE)
    found.sort(key=lambda test: names.search(test.read_text()) is None)
    return [test.relative_to(ROOT).as_posix() for test in found]


def _equivalents() -> set[str]:
    """The names of mistakes that change nothing."""
    lines = EQUIVALENTS.read_text().splitlines() if EQUIVALENTS.exists() else []
    return {line.rsplit(" # ", 1)[0] for line in lines if line.strip()}


def _summary(records: Sequence[Mapping[str, Any]]) -> int:
    counted = [record for record in records if record["name"] not in _equivalents()]
    missed = [record for record in counted if record["verify"] == "missed"]
    both = [record for record in missed if record["tests"] == "missed"]
    for record in missed:
        reach = f"reached by {record['claims']} claims" if record["claims"] else "no claim comes by"
        print(f"missed by verify, {record['tests'] or 'not shown'} to the tests, {reach}: {record['name']}")
    share = 1 - len(missed) / len(counted) if counted else 1.0
    apart = len(records) - len(counted)
    print(
        f"{len(counted)} mutants ({apart} more are equivalent): verify noticed {share:.1%}; {len(both)} survive both."
    )
    return 1 if both or share < 0.95 else 0


if __name__ == "__main__":
    sys.exit(main())
