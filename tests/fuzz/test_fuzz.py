"""A little of both fuzzers at each run: `python -m tests.fuzz.calls` and `tests.fuzz.commands` do a lot."""

from __future__ import annotations

from tests.fuzz import calls, commands

# Packages whose exported names refuse whatever they should: a new one is added when it does.
PACKAGES = (
    *(f"{root}.{topic}" for root in ("dpbounds", "simulators") for topic in ("ftrl", "iv", "ols", "glm")),
    *("dpbounds.privacy", "dpbounds.elliptic"),
)


def test_hostile_calls_end_in_errors_of_ours():
    todo = [call for name in PACKAGES for call in calls.calls(50, 0, name)]
    failed = [outcome for outcome in calls.run(todo) if not outcome.allowed]
    assert not failed, "\n".join(f"{outcome.kind}: {outcome.message}\n  {outcome.call.line}" for outcome in failed)


def test_hostile_commands_end_in_one_line():
    failed = [outcome for outcome in commands.run(commands.command_lines(20, 0)) if not outcome.allowed]
    assert not failed, "\n".join(f"{outcome.kind}: {outcome.said}\n  {outcome.words}" for outcome in failed)


def test_the_fuzzer_tells_outcomes_apart():
    expected = {
        "math.sqrt(4.0)": "result",
        "dpbounds.iv.epsilons(-1.0, 0.1)": "DomainError",
        "dpbounds.iv.epsilons()": "TypeError of Python",
        "int([])": "TypeError",
        "{}['a']": "KeyError",
        "np.zeros(10**12)": "MemoryError",
        "sum(1 for _ in iter(int, 1))": "no end in time",
        "os._exit(1)": "crash",
    }
    todo = [calls.Call("a test", line, ("rho", "delta")) for line in expected]
    assert {outcome.call.line: outcome.kind for outcome in calls.run(todo, seconds=0.5)} == expected
