"""Beyond the paper: audits by law. Curves against plain sums, and verdicts on noise whose privacy is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpbounds.audit import (
    Audit,
    GaussianEvent,
    coefficients_of,
    coordinates_needed,
    gaussian,
    judged,
    laplace,
    laplace_delta,
    pair_delta,
    poisson_delta,
    poisson_epsilon,
    promise_of,
)
from dpbounds.audit.witnesses import evaluated, witness
from simulators.audit import Box, Pair, audit, rerun
from verify.checks import Agreement, Fact, Holds, Times
from verify.statements.claims import Claim

LINE = np.linspace(-40.0, 40.0, 800_001)
# More than audits of laws take, which end where their resolution is reached: verdicts do not hang on the machine.
SECONDS = 300.0


def _normal(mean: float, variance: float = 1.0) -> np.ndarray:
    return np.exp(-((LINE - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def _sum(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    """The integral of (p - e^epsilon q)_+ by the trapezoid rule, to 1e-8."""
    return float(np.maximum(first - math.exp(epsilon) * second, 0.0).sum() * (LINE[1] - LINE[0]))


def _curves(rng: np.random.Generator) -> Iterator[Fact]:
    for epsilon in (0.1, 0.6):
        mixture = 0.8 * _normal(0.0) + 0.2 * _normal(1.5)
        for first, pair in ((True, (mixture, _normal(0.0))), (False, (_normal(0.0), mixture))):
            found = poisson_delta(epsilon, 1.5, 0.2, record_first=first)
            yield Fact(f"sampled, record first {first}, epsilon = {epsilon}", found, _sum(*pair, epsilon), 1e-6)
        moved, still = (np.exp(-np.abs(LINE - mean)) / 2 for mean in (1.0, 0.0))
        found = laplace_delta(epsilon, [1.0])[0]
        yield Fact(f"Laplace, epsilon = {epsilon}", found, _sum(moved, still, epsilon), 1e-6)
        found = pair_delta(epsilon, [0.8], 2.0, 1.0)
        yield Fact(f"two Gaussians, epsilon = {epsilon}", found, _sum(_normal(0.8, 2.0), _normal(0.0), epsilon), 1e-6)


BEYOND_AUDIT_CURVES = Claim(
    id="ftrl/beyond-audit-curves",
    where="beyond the paper: privacy curves of audits",
    kind="privacy",
    statement=(
        "The curves of an audit are exact for one Poisson-sampled Gaussian step in both directions, one Laplace "
        "output, and two Gaussians of different means and variances."
    ),
    checks=(Agreement(facts=_curves, impostors={"1e-4 off": {"facts": Times(1 + 1e-4)}}),),
)


def _verdicts(rng: np.random.Generator, noise: float = 1.0) -> Iterator[Holds]:
    """Verdicts on noise of `noise` times what is right."""
    coefficients = np.array([1.0, 0.5, 0.25])
    sensitivity = float(np.linalg.norm(coefficients))
    proved = judged(
        coefficients_of(coefficients, 32, noise_multiplier=noise * sensitivity), promise_of({"mu": 1.0}), "zero-out"
    )
    yield Holds("coefficients are proved", proved.proved)

    def step(gradients: np.ndarray, seed: int) -> np.ndarray:
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients / np.maximum(norms, 1.0)).sum(axis=0)
        return total + noise * np.random.default_rng(seed).standard_normal(500)

    epsilon = 2 * (1 - float(ndtr(-0.5)))  # at which delta of mu = 1 is computed from its two tails
    delta = float(ndtr(0.5 - epsilon) - math.exp(epsilon) * ndtr(-0.5 - epsilon))
    for claim in ({"mu": 1.0}, (epsilon, delta)):
        settings: dict[str, Any] = {"adjacency": "zero-out", "domain": Box(shape=(2, 500)), "law": gaussian()}
        found = audit(step, claim, **settings, seconds=SECONDS)
        yield Holds(f"a right step is consistent with {found.claim.text}", found.verdict == "consistent")
        short = audit(step, {"mu": 0.9}, **settings, seconds=SECONDS)
        yield Holds("a tenth less is refuted with a witness", short.verdict == "refuted" and _again(short, step))

    def bare(gradients: np.ndarray, seed: int) -> np.ndarray:
        released = step(gradients, seed)
        released[0] = released[1] - gradients[0, 0]
        return released

    settings = {"adjacency": "zero-out", "domain": Box(shape=(2, 500)), "law": gaussian()}
    open_one = audit(bare, {"mu": 1.0}, **settings, seconds=SECONDS)
    yield Holds("a difference without noise is refuted", open_one.verdict == "refuted" and _again(open_one, bare))

    def count(data: np.ndarray, seed: int) -> float:
        return float(data.sum()) + 2 * noise * float(np.random.default_rng(seed).laplace())

    def answer(data: np.ndarray, seed: int) -> float:
        return float(np.random.default_rng(seed).random() < 0.5 + 0.4 * data[0])

    domain = [Pair(np.zeros(1), np.ones(1), "another answer")]
    loud = audit(answer, 0.5, adjacency="replace-one", domain=domain, law="discrete", seconds=20.0)
    refuted = loud.verdict == "refuted" and loud.epsilon[0] < math.log(5) and _again(loud, answer)
    yield Holds("an answer of epsilon log 5 is refuted at a half by an event", refuted)
    box = Box(shape=(4,), low=0, high=1)
    found = audit(count, 0.5, adjacency="replace-one", domain=box, law=laplace(2.0), seconds=SECONDS)
    exact = found.slack is not None and 0.6 < found.slack < 1.6  # a loaded machine resolves no more
    yield Holds(
        "a right count with Laplace noise is consistent, with little slack", found.verdict == "consistent" and exact
    )


def _two_scales(rng: np.random.Generator, least: float = 0.05) -> Iterator[Holds]:
    """Gaussian noise of one scale and of twice that: its loss has no bound, and delta at epsilon 1 is above 0.05."""
    numbers: dict[str, Any] = {"family": "gaussian", "outputs": 1, "sums": [9e3, 36e3], "numbers": [9000] * 2}
    for delta, refuted, spent in ((0.0, True, math.inf), (least, True, 0.0), (0.5, False, 0.0)):
        found = evaluated(witness("scales", {"epsilon": 1.0, "delta": delta}, alpha=1e-6, **numbers))
        yield Holds(f"two scales, delta {delta:g}", (found.refuted, found.spent) == (refuted, spent))


def _again(found: Audit, mechanism: Callable[..., Any]) -> bool:
    """Whether the witness refutes by its numbers, and by those that its runs give anew."""
    anew = rerun(found.witness, mechanism, seconds=SECONDS).content
    return evaluated(found.witness).refuted and anew is not None and evaluated(anew).refuted


BEYOND_AUDIT_VERDICTS = Claim(
    id="ftrl/beyond-audit-verdicts",
    where="beyond the paper: verdicts of audits on known noise",
    kind="privacy",
    statement=(
        "Of noise whose privacy is known, an audit proves coefficients, finds a right step and a right count "
        "consistent with its exact claims, and refutes smaller claims of the step and of a randomised answer, and "
        "any of a step that leaves a difference without noise, with witnesses that refute again when the mechanism is "
        "run anew.",
        "Noise of two scales refutes an epsilon without delta, and one with a delta where it is small.",
    ),
    setting="One step of DP-SGD with 500 parameters, a count with Laplace noise, and a randomised answer.",
    checks=(
        Agreement(decides="a", facts=_verdicts, impostors={"10 % less noise": {"facts": {"noise": 0.9}}}),
        Agreement(decides="b", facts=_two_scales, impostors={"a delta of 0.3": {"facts": {"least": 0.3}}}),
    ),
)


MOVED = [Pair(np.ones(1), np.zeros(1), "1 against 0")]
# Each audit of right noise alarms with at most this probability.
RARE = 1e-11
Draw = Callable[[np.random.Generator], np.ndarray]


def _shifted(shift: np.ndarray, draw: Draw, noise: float = 1.0) -> Callable[[np.ndarray, int], np.ndarray]:
    """A record's shift and `noise` times a draw."""
    return lambda data, seed: data[0] * shift + noise * draw(np.random.default_rng(seed))


def _right(rng: np.random.Generator, noise: float = 1.0) -> Iterator[Holds]:
    """Verdicts on shifts of known size in `noise` times the noise that pays for them."""
    root, success = np.tril(np.ones((6, 6))), 1 - math.exp(-1.0)
    rows: list[tuple[str, np.ndarray, Draw, Any, Any]] = [
        (
            "correlated noise",
            root @ np.full((6, 200), 1 / math.sqrt(1200)),
            lambda rng: root @ rng.standard_normal((6, 200)),
            {"mu": 1.0},
            gaussian(root @ root.T),
        ),
        ("Laplace noise", np.full(50, 0.02), lambda rng: rng.laplace(size=50), 1.0, laplace(1.0)),
        ("whole noise", np.ones(1), lambda rng: np.subtract(*rng.geometric(success, (2, 1))), 1.0, "discrete"),
    ]
    for epsilon in (0.5, 4.0):
        shift = np.full(1000, promise_of((epsilon, 1e-5)).gaussian_mu / math.sqrt(1000))
        label = f"Gaussian noise at {epsilon:g}"
        rows.append((label, shift, lambda rng: rng.standard_normal(1000), (epsilon, 1e-5), gaussian(1.0)))
    for label, shift, draw, claim, law in rows:
        run = _shifted(shift, draw, noise)
        found = audit(run, claim, adjacency="zero-out", domain=MOVED, law=law, alpha=RARE, seconds=SECONDS)
        yield Holds(f"{label} is consistent", found.verdict == "consistent")
    event = GaussianEvent(kind="poisson", noise_multiplier=noise, sampling_probability=0.1)
    claim = (poisson_epsilon(1.0, 0.1, 1, 1e-5)[1], 1e-5)
    found = audit(event, claim, adjacency="add-remove")
    yield Holds("a sampled step is consistent", found.verdict == "consistent")


BEYOND_AUDIT_ALARMS = Claim(
    id="ftrl/beyond-audit-alarms",
    where="beyond the paper: audits of right noise",
    kind="privacy",
    statement=(
        "Audits of right noise end consistent with its exact claims: Gaussian at a small and a large epsilon, "
        "correlated over steps, Laplace, whole numbers that are declared so, and one Poisson-sampled step."
    ),
    setting="A shift of one record, with seeds of the mechanism that are fixed.",
    checks=(Agreement(facts=_right, impostors={"20 % less noise": {"facts": {"noise": 0.8}}}),),
)


def _short(rng: np.random.Generator, share: float = 1.0) -> Iterator[Holds]:
    """Verdicts on noise that is short by `share` of what an audit of so many numbers is to see."""
    for error in (0.05, 0.01):
        number = coordinates_needed(error)
        shift = np.zeros(number)
        shift[0] = 1.0
        run = _shifted(shift, lambda rng, number=number: rng.standard_normal(number), 1 - share * error)
        settings: dict[str, Any] = {"adjacency": "zero-out", "domain": MOVED, "law": gaussian(), "seconds": SECONDS}
        found = audit(run, {"mu": 1.0}, resolution=error, **settings)
        numbers = {"coordinates": float(number), "error": error}
        yield Holds(f"{error:g} less noise is refuted", found.verdict == "refuted" and _again(found, run), numbers)


BEYOND_AUDIT_POWER = Claim(
    id="ftrl/beyond-audit-power",
    where="beyond the paper: audits of noise that is too small",
    kind="privacy",
    statement=(
        "Gaussian noise that is short by the resolution asked for is refuted from as many noise coordinates as "
        "`coordinates_needed` says, with a witness that refutes again."
    ),
    setting="Scales short by 5 % and by 1 %; one output of the vector moves.",
    checks=(Agreement(facts=_short, impostors={"nothing short": {"facts": {"share": 0.0}}}),),
)
