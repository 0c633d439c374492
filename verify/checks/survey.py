"""One statement under every choice that a paper leaves open: a constant, a draw of the parameters, a way to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from verify.checks.base import Check, Level, Result, Seed, Task
from verify.checks.evidence import Evidence, Outcome, weakest


@final
@dataclass(frozen=True, kw_only=True)
class Survey(Check):
    """Holds if it holds in all settings and fails if it fails in all; otherwise unclear, and the evidence is the map of
    where.

    `settings` names each choice (Typst markup) and gives its check, which is of the level of that check. The picture
    and the counterexample are those of the first setting that has one.
    """

    settings: Mapping[str, Check]

    def validate(self, place: str) -> None:
        """Each setting's check too."""
        super().validate(place)
        for name, check in self.settings.items():
            check.validate(f"{place}, setting {name!r}")

    def tasks(self, level: Level) -> Sequence[Task]:
        """The tasks of every setting."""
        return _labelled({name: check.tasks(level) for name, check in self._checks(level).items()})

    def more(self, results: Sequence[Result], level: Level) -> Sequence[Task]:
        """More work where a setting is unclear, unless the others differ already."""
        if {"holds", "fails"} <= {item.outcome for item in self._found(results, level).values()}:
            return ()
        checks = self._checks(level)
        return _labelled({name: check.more(_own(results, name), level) for name, check in checks.items()})

    def run(self, task: Task, seed: Seed) -> Result:
        """A task of one setting."""
        own = {key: value for key, value in task.items() if key != "setting"}
        return {"setting": task["setting"], "result": self.settings[task["setting"]].run(own, seed)}

    def false_alarms(self, level: Level) -> float:
        """Of all settings together."""
        return sum(check.false_alarms(level) for check in self._checks(level).values())

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The map: what each setting says."""
        found = self._found(results, level)
        outcomes: list[Outcome] = [item.outcome for item in found.values()]
        outcome: Outcome = outcomes[0] if len(set(outcomes)) == 1 else "unclear"
        said = {"holds": "holds for", "fails": "fails for", "unclear": "is open for"}
        parts = [
            f"{words} {', '.join(name for name, item in found.items() if item.outcome == word)}"
            for word, words in said.items()
            if word in outcomes
        ]
        summary = f"It {'; it '.join(parts)}."
        common: dict[str, Any] = {
            "how": weakest(list(found.values())),
            "alpha": self.false_alarms(level),
            "trials": sum(item.trials for item in found.values()),
            "evaluations": sum(item.evaluations for item in found.values()),
            "rows": [{"setting": name, "outcome": item.outcome, "found": item.summary} for name, item in found.items()],
            "picture": next((item.picture for item in found.values() if item.picture is not None), None),
        }
        if outcome == "fails":
            first = next(iter(found.values()))
            return Evidence(outcome="fails", summary=summary, counterexample=first.counterexample, **common)
        return Evidence(outcome=outcome, summary=summary, needed=summary if outcome == "unclear" else "", **common)

    def _checks(self, level: Level) -> dict[str, Check]:
        return {name: check for name, check in self.settings.items() if check.runs_at(level)}

    def _found(self, results: Sequence[Result], level: Level) -> dict[str, Evidence]:
        return {name: check.conclude(_own(results, name), level) for name, check in self._checks(level).items()}


def _labelled(tasks: Mapping[str, Sequence[Task]]) -> list[Task]:
    return [{**task, "setting": name} for name, own in tasks.items() for task in own]


def _own(results: Sequence[Result], name: str) -> list[Result]:
    return [result["result"] for result in results if result["setting"] == name]
