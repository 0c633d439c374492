"""Hostile command lines and hostile files.

Allowed is exit status 0, 1, 2 or 3 and no traceback, with 2 one line on standard error that begins with `dpbounds`,
within 30 seconds of processor time and 4 GiB. Commands run in a worker process, in a folder of hostile files.

    python -m tests.fuzz.commands --count 2000
    python -m tests.fuzz.commands --line "solve iv --n 10 --theta zero"      # one of them, with its traceback
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import json
import os
import random
import shlex
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.workers import SECONDS, Overtime, judged, limited

DIGITS = "1" + "0" * 399
NUMBERS = (
    *("0", "-1", "1", "2", "0.5", "nan", "inf", "-inf", "1e400", "-1e400", "1e-300", "5e-324", "1e300", DIGITS, "0.1"),
    *(
        "3",
        "10",
        "1e-6",
        "1000",
        "0.999999999999",
        "1e9",
        "10000000",
        "99999999999",
        "1_000",
        " 1",
        "1e-16",
        "4294967296",
    ),
)
WORDS = (
    *(
        "",
        " ",
        "-",
        "--",
        "text",
        "é²",
        "²",
        "１",
        "None",
        "null",
        "[1]",
        "1,2",
        "0x10",
        "1/3",
        "true",
        "a=1",
        "clipping=nan",
    ),
    *("0/999999999", "0/0", "1/0", "-1/2", "0/2", "1/1", "a" * 300, "a\nb", "\x1b[31m", "x", "y", "a", "b", "junit"),
)
FILES = (
    *(
        "empty",
        "binary",
        "deep.json",
        "null.json",
        "claims.json",
        "digits.json",
        "digits.csv",
        "list.json",
        "number.json",
    ),
    *("nan.json", "text.csv", "ragged.csv", "matrix.csv", "numbers.txt", "weights.json", "broken.npy", "broken.csv.gz"),
    *("folder", "nosuch", "nosuch/file", "empty/file", "loop", "a" * 300, "/dev/zero", "/dev/null", "/dev/full", "/"),
    *("/proc/self/mem", "new.svg", "new.pdf", "new.json", "-", "~", "\x00", "damaged", "table.csv", "spectrum.npy"),
)
CLAIMS = (
    "ftrl/eq-14",
    "ftrl/thm-2.1-neg",
    "ftrl/Theorem 2.1*",
    "eq. (7)",
    "iv/def-2.1",
    "nothing",
    "iv/",
    "*",
    "[",
    "é",
)
# Commands that work as they stand, and are spoiled.
BASES = (
    "list",
    "list ftrl/eq-14",
    "verify ftrl/eq-14",
    "verify iv/def-2.1 --json",
    "report --out new.pdf",
    "report ftrl/eq-14 --results nosuch --out new.pdf",
    "solve --check list.json",
    "solve ftrl --kappa 10 --eta 0.1",
    "solve ftrl --kappa 10 --eta 0.1 --program f --nodes 100 --max-lag 5 --mechanism sgd",
    "solve ftrl --kappa 9 --eta 0.1 --certify --max-lag 5 --coefficients weights.json --mechanism coefficients",
    "solve ftrl --kappa 10 --method gd --rate 0.1 --mechanism sgd",
    "solve ftrl --kappa 10 --eta 0.1 --method gd --horizon 3 --initial 1",
    "solve ftrl --problem mean-estimation --eta 0.1",
    "solve ftrl --decay 1 --d 5 --eta 0.1 --T 10",
    "solve iv --n 2000 --p 2 --q 2 --rho1 1 --rho2 1 --T 4",
    "solve iv --n 2000 --p 2 --q 3 --rho1 1 --rho2 1 --T 4 --theta matrix.csv",
    "solve iv --csv table.csv --instruments a b --regressors x --outcome y --rho 1",
    "solve iv --confidence --csv table.csv --outcome y --regressors x --instruments a b --bounds x=0:10 y=0:11 a=0:6 "
    "--epsilon 9 --delta 0.01 --seed 1",
    "solve iv --confidence --csv table.csv --outcome y --regressors x --instruments a --bounds x=0:10 y=0:11 a=0:6 "
    "--instrument-means a=3 --mu 5 --honest --public --plot new.svg",
    "solve iv --confidence --csv table.csv --outcome y --regressors x --instruments a --controls b --bounds x=0:10 "
    "y=0:11 --mu 30 --clamping natural --save new.json",
    "solve iv --confidence --csv table.csv --outcome y --regressors x --instruments b --bounds x=0:10 y=2:5 b=0:1 "
    "--mu 30 --independent --heterogeneity 2 --regressor-clamped --seed 1",
    "solve iv --confidence --n 5000 --outcome y --regressors x --instruments z --design s --grid 0:2:64 "
    "--instrument-means z=0.5 --epsilon 1",
    "solve ftrl --spectrum numbers.txt --eta 0.1 --epsilon 1 --mechanism sgd nu",
    "solve ftrl --kappa 10 --eta 0.1 --T 5 --simulate 10 --mechanism sgd",
    "solve ols --n 2000 --d 3 --epsilon 2 --T 2",
    "solve ols --n 400 --d 3 --epsilon 2 --spectrum numbers.txt --theta-norm 0.3 --residual 0.1 --simulate 10",
    "solve ols --csv table.csv --target y --epsilon 2 --delta 0.01 --outcome-bound 11 --row-bound 11",
)


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its status, or why it has none."""

    words: tuple[str, ...]
    kind: str
    said: str = ""
    place: str = ""
    seconds: float = 0.0

    @property
    def allowed(self) -> bool:
        return self.kind in ("0", "1", "2", "3")


def command_lines(count: int, seed: int) -> list[tuple[str, ...]]:
    """The same command lines for the same arguments, the bases in turn."""
    return [_spoiled(BASES[number % len(BASES)], random.Random(f"{seed} {number}")) for number in range(count)]


@dataclass(frozen=True)
class Option:
    """An option: how many values it takes, -1 for one or more, and what those look like."""

    name: str
    takes: int
    values: tuple[str, ...]


def _spoiled(base: str, rng: random.Random) -> tuple[str, ...]:
    words = base.split()
    known = options(" ".join(words[:2]) if words[0] == "solve" and not words[1].startswith("-") else words[0])
    for _ in range(rng.choices((0, 1, 2, 3), (5, 50, 30, 15))[0]):
        action = rng.random()
        if action < 0.4:
            places = [k for k, word in enumerate(words) if k > 1 and not word.startswith("--")]
            if places:
                place = rng.choice(places)
                before = [word for word in words[:place] if word.startswith("--")]
                likely = next((option.values for option in known if before and option.name == before[-1]), CLAIMS)
                words[place] = _value(likely, rng)
        elif action < 0.9:
            option = rng.choice(known)
            count = option.takes if option.takes >= 0 else rng.choice((1, 1, 2))
            words += [option.name, *(_value(option.values, rng) for _ in range(count))]
        elif action < 0.95:
            words.insert(rng.randrange(len(words) + 1), rng.choice((*WORDS, *CLAIMS)))
        else:
            words = words[: rng.randrange(len(words) + 1)]
    if words[:1] == ["verify"]:  # not all claims of a paper
        words = [word for word in words if word not in ("*", "iv/")] + ["ftrl/eq-14"]
    return tuple(words)


def _value(likely: Sequence[str], rng: random.Random) -> str:
    """Mostly what an option's values look like, so that the command gets past reading its arguments."""
    return rng.choice(likely if rng.random() < 0.85 else (*NUMBERS, *WORDS, *FILES, *CLAIMS))


@functools.cache
def options(command: str) -> list[Option]:
    """The options of a command."""
    from verify.cli import parser

    found = parser(command.split())
    for word in command.split():
        (group,) = [action for action in found._actions if isinstance(action, argparse._SubParsersAction)]
        found = group.choices[word]
    return [
        Option(
            action.option_strings[-1],
            -1 if action.nargs == "+" else 1 if action.nargs is None else int(action.nargs),
            _likely(action),
        )
        for action in found._actions
        if action.option_strings and action.option_strings[0] not in ("-h", "--scheduler")
    ]


def _likely(action: argparse.Action) -> tuple[str, ...]:
    if action.choices is not None:
        return tuple(action.choices)
    if "FILE" in str(action.metavar) or "DIR" in str(action.metavar):
        return FILES
    return WORDS if action.type is None else NUMBERS


def make_files(folder: Path) -> None:
    """Files that no command should trip over, and a few good ones."""
    contents = {
        "empty": b"",
        "binary": bytes(range(256)) * 40,
        "deep.json": b"[" * 100_000,
        "null.json": b"null",
        "claims.json": b'{"format": "dpbounds-results/5", "checksum": "", "versions": {}, "claims": null}',
        "digits.json": f"[{DIGITS}, {DIGITS}.5, -{DIGITS}]".encode(),
        "digits.csv": f"a,b\n{DIGITS},1\n1e400,2\n".encode(),
        "list.json": b'[{"mechanism": "sgd", "status": "proved", "certificate": null}, null, 1]',
        "number.json": b"1",
        "nan.json": b"[NaN, Infinity, null, true]",
        "text.csv": "é,b\nx,y\n\u2028,\n".encode(),
        "ragged.csv": b"1,2\n3\n",
        "matrix.csv": b"1,0\n0,1\n0.5,0.5\n",
        "table.csv": b"a,b,x,y\n"
        + b"".join(b"%d,%d,%d,%d\n" % (k % 7, k % 5, k % 7 + k % 3, k % 11) for k in range(60)),
        "numbers.txt": b"1\n0.5\n0.25\n",
        "weights.json": b"[1, -0.5]",
        "broken.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'shape': (99999999999,)}\n",
        "broken.csv.gz": b"\x1f\x8b\x08\x00garbage",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "loop").symlink_to("loop")
    (folder / "damaged").mkdir()
    for name, content in {"results.json": b'{"claims": null}', "tasks.jsonl": b"garbage\n{}\nnull\n[1]\n"}.items():
        (folder / "damaged" / name).write_bytes(content)


# --- one command, in a worker ---


@functools.cache
def _prepared() -> None:
    """A folder of hostile files, and claims computed in this process in place of a pool."""
    from dpbounds.errors import count
    from verify.cli import verifying
    from verify.running.executor import Serial

    class Here(Serial):
        def __init__(self, jobs: int) -> None:
            count("jobs", jobs)

    verifying.Processes = Here
    folder = Path(tempfile.mkdtemp(prefix="dpbounds-fuzz-"))
    make_files(folder)
    os.chdir(folder)


def judge(words: tuple[str, ...], seconds: float) -> Outcome:
    """The outcome of one command in this process."""
    from verify.cli import main

    _prepared()
    said, printed = io.StringIO(), io.StringIO()
    started, place = time.process_time(), ""
    try:
        with limited(seconds), contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
            kind = str(main(words))
    except SystemExit as end:
        kind = str(end.code or 0)
    except (Exception, Overtime) as error:
        kind = "no end in time" if isinstance(error, Overtime) else type(error).__name__
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
        said.write(str(error))
    lines = said.getvalue().strip().split("\n")
    if kind == "2" and not (lines[-1].startswith("dpbounds") and len(_own(lines)) == 1 and lines[-1].isprintable()):
        kind, place = "not one line", lines[-1][:60]
    return Outcome(words, kind, "\n".join(lines)[-400:], place, round(time.process_time() - started, 2))


def _own(lines: Iterable[str]) -> list[str]:
    """Without progress, and without what is said of names that mean several claims."""
    return [line for line in lines if not line.startswith("verify:") and " would be those of one paper" not in line]


def run(todo: Iterable[tuple[str, ...]], seconds: float = SECONDS) -> Iterator[Outcome]:
    """The outcomes of the commands, run in a process of their own."""
    for words, outcome in judged(todo, judge, seconds):
        yield Outcome(words, outcome) if isinstance(outcome, str) else outcome


def show(outcomes: Sequence[Outcome]) -> None:
    """Counts by status, then a line for each kind of failure."""
    print(f"{len(outcomes)} command lines:")
    for kind, count in Counter(outcome.kind for outcome in outcomes).most_common():
        print(f"  {count:6d}  {kind}{'' if kind in ('0', '1', '2', '3') else '   <-- not allowed'}")
    failures: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if not outcome.allowed:
            failures.setdefault((outcome.kind, outcome.place), []).append(outcome)
    for (kind, place), found in sorted(failures.items(), key=lambda item: -len(item[1])):
        first = min(found, key=lambda outcome: len(" ".join(outcome.words)))
        print(f"\n{len(found)} x {kind} at {place}: {first.said}\n    dpbounds {shlex.join(first.words)}")
    slow = max(outcomes, key=lambda outcome: outcome.seconds)
    print(f"\nSlowest: {slow.seconds} s, dpbounds {shlex.join(slow.words)}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 1 if any command ended in what is not allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="processor time of one command")
    parser.add_argument("--line", help="run this one command")
    parser.add_argument("--json", metavar="FILE", help="write all outcomes there")
    chosen = parser.parse_args(arguments)
    if chosen.line:
        from verify.cli import main as command

        _prepared()
        return command(shlex.split(chosen.line))
    outcomes = list(run(command_lines(chosen.count, chosen.seed), chosen.seconds))
    show(outcomes)
    if chosen.json:
        Path(chosen.json).write_text(json.dumps([vars(outcome) for outcome in outcomes], indent=1))
    return int(not all(outcome.allowed for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
