"""The protocol of a check: independent tasks, and a conclusion from their results.

Tasks make long checks resumable and parallel: each is JSON data that fully determines its work together with the seed,
so its result can be stored under a key and never depends on who computed it or when.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, TypeVar, get_args

import numpy as np

from dpbounds import DomainError
from verify.checks.evidence import Evidence, How, Role
from verify.checks.impostors import Times, bound, check_keywords, multiplied

Level = Literal["quick", "full", "paper"]
LEVELS: tuple[Level, ...] = ("quick", "full", "paper")
Task = Mapping[str, Any]
Result = Mapping[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Seed:
    """The user's seed, for simulations that seed themselves from their content, and one derived from it for this task
    alone.
    """

    user: int
    sequence: np.random.SeedSequence

    def generator(self) -> np.random.Generator:
        """A generator for this task."""
        return np.random.default_rng(self.sequence)


@dataclass(frozen=True, kw_only=True)
class Check(ABC):
    """A way to decide a statement; what inherits from it directly is final.

    `level` is the lowest level at which it runs. `decides` names the clauses of the statement that it decides by their
    letters; "" is all of a statement of one clause. `impostors` names deliberately wrong versions of it, each given by
    the fields that it replaces: the check must fail on every one of them, else it proves nothing. In place of a
    function an impostor may give `Times(1.05)`, which multiplies its values, or keyword arguments as a mapping, with
    which it is then called.

    `role` is that of a proof, or of a control beside the proofs that a written derivation joins to the statement
    (`verify.statements.derivations`): a control can refute, and neither lowers nor raises a ground.

    A check whose field `closed` is set computes closed expressions: no quadrature, no grid in place of an extremum, no
    series that is cut off, no root but a bracketed one. What breaks it, or that all facts are so, is then decided again
    in balls (`verify.certain`), and the result says `certain` where they agree.
    """

    level: Level = "quick"
    decides: str = ""
    role: Role = "proof"
    impostors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def tasks(self, level: Level) -> Sequence[Task]:
        """The work at a level, as independent pieces of about a second or less; by default one piece."""
        del level
        return ({},)

    def more(self, results: Sequence[Result], level: Level) -> Sequence[Task]:
        """Further tasks for a check that is unclear after these results, at most `statistics.LOOKS` times; none by
        default. Depends on nothing else, so that a resumed run asks for the same.
        """
        del results, level
        return ()

    def shared(self, task: Task) -> Hashable | None:
        """What a task simulates: checks of one claim for which it is the same, impostors too, have one result of it.
        None where the result is this check's alone.
        """
        del task
        return None

    @abstractmethod
    def run(self, task: Task, seed: Seed) -> Result:
        """The result of one task, as JSON data; random numbers come from `seed` alone."""

    @abstractmethod
    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The evidence from the results of all tasks, first those of the level, then those that were added."""

    def broken_by(self, result: Result) -> Mapping[str, Any] | None:
        """The counterexample in a result that floats found and balls may decide, None without any."""
        del result
        return None

    def false_alarms(self, level: Level) -> float:
        """At most this probability to fail, at this level, on a statement that is true; over all its looks."""
        del level
        return 0.0

    def counterexample_names(self) -> Collection[str] | None:
        """The names of the numbers that a counterexample gives, None where only a run tells."""
        return None

    def validate(self, place: str) -> None:
        """Raise `DomainError`, saying at which `place` the check stands, for a level that there is not and for an
        impostor that could not be made: one that replaces nothing, a field that there is not, or a function by
        arguments that it does not take.
        """
        if self.level not in LEVELS:
            raise DomainError(f"level of {place}", self.level, f"one of {', '.join(LEVELS)}")
        if self.role not in get_args(Role):
            raise DomainError(f"role of {place}", self.role, f"one of {', '.join(get_args(Role))}")
        replaceable = [item.name for item in fields(self) if item.name not in ("impostors", "decides", "role")]
        for name, replaced in self.impostors.items():
            impostor = f"impostor {name!r} of {place}"
            if not replaced:
                raise DomainError(impostor, replaced, f"a replacement of one of {', '.join(replaceable)}")
            for key, value in replaced.items():
                if key not in replaceable:
                    raise DomainError(impostor, key, f"one of {', '.join(replaceable)}", "name the field it replaces")
                if isinstance(value, Times) and not callable(getattr(self, key)):
                    raise DomainError(f"{impostor}, {key}", value, "a value in its place: it is no function")
                if isinstance(value, Mapping) and callable(getattr(self, key)):
                    check_keywords(f"{impostor}, {key}", getattr(self, key), value)

    def impostor(self, name: str) -> Self:
        """The wrong version called `name`."""
        replaced = {key: self._replaced(key, value) for key, value in self.impostors[name].items()}
        return replace(self, **replaced, impostors={})

    @property
    def clauses(self) -> str:
        """The letters of the clauses that it decides."""
        return self.decides or "a"

    def deciding(self, clauses: str) -> Self:
        """The same check as one that decides these clauses."""
        return replace(self, decides=clauses)

    def as_control(self) -> Self:
        """The same check as a control."""
        return replace(self, role="control")

    def runs_at(self, level: Level) -> bool:
        """Whether the check belongs to `level`."""
        return LEVELS.index(self.level) <= LEVELS.index(level)

    def _replaced(self, key: str, value: Any) -> Any:
        original = getattr(self, key)
        if isinstance(value, Times):
            return multiplied(original, value)
        if isinstance(value, Mapping) and callable(original):
            return bound(original, value)
        return value


def ground_of(result: Result) -> How:
    """Of what floats found at points: certain where balls found it too."""
    return "certified at points" if result.get("certain") else "numeric"


def by_level(choice: T | Mapping[Level, T], level: Level) -> T:
    """A setting that may differ by level: the entry for the highest level named at or below `level`."""
    if not isinstance(choice, Mapping):
        return choice
    named = [choice[name] for name in LEVELS[: LEVELS.index(level) + 1] if name in choice]
    return named[-1]


def chosen(items: Sequence[T], label: str, of: Callable[[T], str]) -> T:
    """The item with this label. Raises `DomainError` if there is none."""
    for item in items:
        if of(item) == label:
            return item
    raise DomainError("task", label, f"one of {', '.join(of(item) for item in items)}")
