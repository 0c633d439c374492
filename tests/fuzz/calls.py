"""Hostile calls on everything that dpbounds and simulators export.

Allowed is a result, a `DomainError`, an `AccuracyError`, or a `TypeError` that begins with the name of a parameter (or
is Python's own, for an argument that is missing or too many); within 30 seconds of processor time and 4 GiB.

    python -m tests.fuzz.calls --count 20000            # counts by outcome, then each kind of failure with a line
    python -m tests.fuzz.calls --only iv.answer         # names that contain this
    python -m tests.fuzz.calls --line "dpbounds.iv.epsilons(None, 'text')"     # one call, with its traceback
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpbounds import AccuracyError, DomainError
from tests.fuzz import values
from tests.fuzz.surface import ROOTS, Target, targets
from tests.fuzz.workers import SECONDS, Overtime, judged, limited

ALLOWED = ("result", "DomainError", "AccuracyError", "TypeError of Python", "TypeError that names")
# Where Python's own complaint about the call itself comes from: the fuzzer, and the wrappers of `dpbounds.arguments`.
OURS = ("judge", "evaluate", "<module>", "checked", "bind", "_bind")
PYTHON = re.compile(r"(missing|unexpected|multiple values|takes \d|takes from|takes no|positional)")


@dataclass(frozen=True)
class Call:
    """One line of Python, and whose."""

    name: str
    line: str
    parameters: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a call ended; `place` is the last line of ours in the traceback."""

    call: Call
    kind: str
    message: str = ""
    place: str = ""
    seconds: float = 0.0

    @property
    def allowed(self) -> bool:
        return self.kind in ALLOWED


def calls(count: int, seed: int, only: str = "", *, methods: bool = False) -> list[Call]:
    """The same calls for the same arguments, the exported names in turn, in an order that the seed gives."""
    chosen = [target for target in targets(methods=methods) if only in target.name]
    random.Random(seed).shuffle(chosen)
    return [
        _call(target, random.Random(f"{seed} {target.name} {number}"))
        for number in range(-(-count // max(len(chosen), 1)))
        for target in chosen
    ][:count]


def _call(target: Target, rng: random.Random) -> Call:
    names = list(target.parameters)
    spoiled = set(rng.sample(names, min(len(names), rng.choices((0, 1, 2, 9), (10, 60, 20, 10))[0])))
    given: list[str] = []
    by_position = True
    for name, (hint, parameter) in target.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        needed = parameter.default is parameter.empty
        if not (needed or name in spoiled or rng.random() < 0.2) or (needed and rng.random() < 0.003):
            by_position = False
            continue
        value = rng.choice(values.hostile(hint) if name in spoiled else values.valid(name, hint))
        by_position = by_position and parameter.kind is not parameter.KEYWORD_ONLY
        given.append(value if by_position else f"{name}={value}")
    if rng.random() < 0.003:
        given.append("nonsense=1")
    return Call(target.name, f"{target.expression}({', '.join(given)})", tuple(names))


# --- one call, in a worker ---


def evaluate(line: str) -> Any:
    """Run the line; look at the first items of an iterator, and at all properties of what validates itself."""
    result = eval(line, values.namespace())
    if isinstance(result, Iterator):
        return list(itertools.islice(result, 3))
    if type(result).__module__.partition(".")[0] in ROOTS and hasattr(result, "__post_init__"):
        repr(result)
        for name, member in _members(type(result)):
            if isinstance(member, (property, cached_property)) and not name.startswith("_"):
                getattr(result, name)
    return result


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] in ROOTS:
            yield from vars(base).items()


def judge(call: Call, seconds: float) -> Outcome:
    """The outcome of one call in this process."""
    values.namespace()
    started = time.process_time()
    kind, message, place = "result", "", ""
    try:
        with limited(seconds):
            evaluate(call.line)
    except (Exception, Overtime) as error:
        kind, message, place = _kind(error, call), " ".join(str(error).split())[:300], _place(error)
    return Outcome(call, kind, message, place, round(time.process_time() - started, 2))


def _kind(error: BaseException, call: Call) -> str:
    if isinstance(error, (DomainError, AccuracyError)):
        return "DomainError" if isinstance(error, DomainError) else "AccuracyError"
    if isinstance(error, Overtime):
        return "no end in time"
    if isinstance(error, TypeError):
        if any(re.match(rf"{re.escape(name)}\b", str(error)) for name in call.parameters):
            return "TypeError that names"
        if PYTHON.search(str(error)) and all(frame.name in OURS for frame in traceback.extract_tb(error.__traceback__)):
            return "TypeError of Python"
    return "MemoryError" if isinstance(error, MemoryError) else type(error).__name__


def _place(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _ours(frame.filename)]
    if not frames:
        return ""
    last = frames[-1]
    short = re.search(r"(dpbounds|simulators)/(?!.*site-packages).*", last.filename.replace("main/", "", 1))
    return f"{short.group(0) if short else last.filename}:{last.lineno} {last.name}"


def _ours(file: str) -> bool:
    return re.search(r"/(dpbounds|simulators)/", file) is not None and "site-packages" not in file


def run(todo: Iterable[Call], seconds: float = SECONDS) -> Iterator[Outcome]:
    """The outcomes of the calls, made in a process of their own."""
    for call, outcome in judged(todo, judge, seconds):
        yield Outcome(call, outcome) if isinstance(outcome, str) else outcome


# --- the table ---


def kinds(outcomes: Sequence[Outcome]) -> dict[tuple[str, str], list[Outcome]]:
    """Failures by what went wrong and where, the most frequent first."""
    found: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if not outcome.allowed:
            found.setdefault((outcome.kind, outcome.place or outcome.call.name), []).append(outcome)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def show(outcomes: Sequence[Outcome], *, by_name: bool = False) -> None:
    """Counts by outcome and by name, then a line for each kind of failure."""
    counts = Counter(outcome.kind for outcome in outcomes)
    print(f"{len(outcomes)} calls on {len({outcome.call.name for outcome in outcomes})} names:")
    for kind, count in counts.most_common():
        print(f"  {count:6d}  {kind}{'' if kind in ALLOWED else '   <-- not allowed'}")
    failures = Counter(outcome.call.name for outcome in outcomes if not outcome.allowed)
    for name, count in failures.most_common(None if by_name else 15):
        print(f"  {count:6d}  failures of {name}")
    for (kind, place), found in kinds(outcomes).items():
        first = min(found, key=lambda outcome: len(outcome.call.line))
        print(f"\n{len(found)} x {kind} at {place}: {first.message}\n    {first.call.line}")
    slow = max(outcomes, key=lambda outcome: outcome.seconds)
    print(f"\nSlowest: {slow.seconds} s, {slow.call.line}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 1 if any call ended in what is not allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="processor time of one call")
    parser.add_argument("--line", help="run this one call")
    parser.add_argument("--methods", action="store_true", help="methods of exported classes in place of exported names")
    parser.add_argument("--names", action="store_true", help="count every name's failures")
    chosen = parser.parse_args(arguments)
    if chosen.line:
        print(repr(evaluate(chosen.line)))
        return 0
    outcomes = list(run(calls(chosen.count, chosen.seed, chosen.only, methods=chosen.methods), chosen.seconds))
    show(outcomes, by_name=chosen.names)
    return int(not all(outcome.allowed for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
