"""Witnesses: numbers from which a refutation follows again, without the search. Data, never code.

A witness is JSON data with `format`, `kind`, `claim` and the numbers of its kind. `evaluated` computes what follows;
that the mechanism gives these numbers is for whoever has it to run again, on the pair that stands there too.

>>> numbers = {"family": "gaussian", "sum": 8.0, "number": 4, "shift": 40.0, "alpha": 1e-6}
>>> evaluated(witness("scale", {"epsilon": 1.0, "delta": 1e-5}, **numbers)).refuted
True
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from dpbounds.arguments import typed
from dpbounds.audit.accounted import event_interval, event_of
from dpbounds.audit.coefficients import coefficients_of, judged
from dpbounds.audit.events import event_epsilon
from dpbounds.audit.intervals import Measured, gaussian_scale_interval, laplace_scale_interval, shift_interval
from dpbounds.audit.laplace import laplace_epsilon
from dpbounds.audit.pairs import pair_delta
from dpbounds.audit.promises import Promise, promise_of
from dpbounds.errors import DomainError
from dpbounds.ftrl.design.participation import Participation

FORMAT = "dpbounds audit witness 1"
# Beyond the level of a claim by less than this is rounding.
TOLERANCE, TOLERANCE_NARROW = 1e-8, 1e-4
# The most that one audit may spend on false alarms and a witness may say.
LARGEST_ALPHA = 1e-3
_ALLOWED = f'JSON data of format "{FORMAT}", as dpbounds audit --save writes it'


@dataclass(frozen=True)
class Evaluated:
    """What follows from the numbers of a witness: what is spent at least, in the units of the claim, and in words."""

    refuted: bool
    spent: float
    claim: Promise
    words: str


def witness(kind: str, claim: Mapping[str, float], **numbers: Any) -> dict[str, Any]:
    """The record of a witness. Raises `DomainError` for a kind that cannot be evaluated."""
    if kind not in _KINDS:
        raise DomainError("kind", kind, f"one of {', '.join(_KINDS)}")
    return {"format": FORMAT, "kind": kind, "claim": dict(claim), **numbers}


@typed
def evaluated(content: Any) -> Evaluated:
    """The witness evaluated again. Raises `DomainError` for what is none, and for numbers that do not compute."""
    try:
        if content["format"] != FORMAT or content["kind"] not in _KINDS:
            raise DomainError("witness", content.get("format"), _ALLOWED)
        promise = promise_of(content["claim"])
        # The pair is what is run, and may hold anything.
        _finite({name: value for name, value in content.items() if name != "pair"})
        return _KINDS[content["kind"]](content, promise)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, DomainError) and error.parameter == "witness":
            raise
        raise DomainError("witness", "this one", _ALLOWED, f"reading it failed: {error}") from None


@typed
def spent_by_law(family: Measured, shift: np.ndarray, scale: float, promise: Promise) -> tuple[float, float]:
    """What outputs that move by `shift`, in declared units, spend with noise of `scale` times these units.

    From below and above, in the units of the claim. Raises `DomainError` for Laplace noise against rho or mu.
    """
    if family == "gaussian":
        spent = promise.of_gaussian(float(np.linalg.norm(shift)) / scale)
        return spent, spent
    if promise.epsilon is None:
        raise DomainError("claim", promise.text, "epsilon and delta where the noise is Laplace")
    total = float(np.abs(shift).sum()) / scale
    return laplace_epsilon(promise.delta, np.abs(shift) / scale) if promise.delta else (total, total)


def exceeds(spent: float, promise: Promise, tolerance: float = TOLERANCE) -> bool:
    """Whether this is more than the claim, beyond rounding."""
    return spent > promise.level * (1 + tolerance)


def stands_out(noise: float, moved: float, size: float, rounding: float) -> bool:
    """Whether a combination moves by more than its noise and rounding of outputs of this size could do."""
    return moved > 100 * max(noise, rounding * size) and 0 <= rounding <= 1e-4


def _scale(content: Mapping[str, Any], promise: Promise) -> Evaluated:
    """The upper end of the scale's interval, from a sum over noise alone, and the shift."""
    family, alpha = _family(content["family"]), _alpha(content["alpha"])
    interval = gaussian_scale_interval if family == "gaussian" else laplace_scale_interval
    upper = interval(float(content["sum"]), int(content["number"]), alpha)[1]
    spent = spent_by_law(family, np.atleast_1d(np.asarray(content["shift"], dtype=float)), upper, promise)[0]
    words = f"the scale is at most {upper:.6g} declared units but with probability {alpha:.2g}"
    return _judged(spent, promise, words, content)


def _declared(content: Mapping[str, Any], promise: Promise) -> Evaluated:
    """The shift, with the noise that the mechanism itself declares."""
    shift = np.atleast_1d(np.asarray(content["shift"], dtype=float))
    spent = spent_by_law(_family(content["family"]), shift, 1.0, promise)[0]
    return _judged(spent, promise, "the noise is as declared", content)


def _singular(content: Mapping[str, Any], promise: Promise) -> Evaluated:
    """A combination of outputs without noise that moves."""
    noise, moved = abs(float(content["noise"])), abs(float(content["moved"]))
    alone = stands_out(noise, moved, abs(float(content["size"])), float(content["rounding"]))
    words = f"a combination of outputs moves by {moved:.6g} and has noise of at most {noise:.3g}"
    return Evaluated(alone, math.inf if alone else 0.0, promise, words)


def _event(content: Mapping[str, Any], promise: Promise) -> Evaluated:
    """Counts of an event."""
    if promise.epsilon is None:
        raise DomainError("claim", promise.text, "epsilon and delta where an event is counted")
    hits, trials = (tuple(int(one) for one in content[name]) for name in ("hits", "trials"))
    spent = event_epsilon(
        cast(tuple[int, int], hits), cast(tuple[int, int], trials), promise.delta, _alpha(content["alpha"])
    )
    words = f"an event has {hits[0]} of {trials[0]} runs on one side and {hits[1]} of {trials[1]} on the other"
    return _judged(spent, promise, words, content)


def _means(content: Mapping[str, Any], promise: Promise) -> Evaluated:
    """Two Gaussian samples of one scale."""
    (mean, left, n), (other, right, k) = content["first"], content["second"]
    samples = (float(mean), float(left), int(n)), (float(other), float(right), int(k))
    ends = shift_interval(*samples, _alpha(content["alpha"]))
    return _judged(promise.of_gaussian(ends[0]), promise, f"means are at least {ends[0]:.6g} deviations apart", content)


def _scales(content: Mapping[str, Any], promise: Promise) -> Evaluated:
    """Two scales whose intervals do not meet: the noise depends on the data."""
    if promise.epsilon is None:
        raise DomainError("claim", promise.text, "epsilon and delta where scales differ")
    family, alpha, outputs = _family(content["family"]), _alpha(content["alpha"]), int(content["outputs"])
    interval = gaussian_scale_interval if family == "gaussian" else laplace_scale_interval
    ends = [interval(float(content["sums"][i]), int(content["numbers"][i]), alpha) for i in (0, 1)]
    apart = ends[0][1] < ends[1][0] or ends[1][1] < ends[0][0]
    words = f"scales lie in [{ends[0][0]:.4g}, {ends[0][1]:.4g}] and [{ends[1][0]:.4g}, {ends[1][1]:.4g}]"
    if not apart:
        return Evaluated(False, 0.0, promise, words)
    if family == "laplace":
        pure = promise.delta == 0
        return Evaluated(pure, math.inf if pure else 0.0, promise, f"{words}: the loss is unbounded")
    wide, narrow = (ends[1][0], ends[0][1]) if ends[0][1] < ends[1][0] else (ends[0][0], ends[1][1])
    delta = pair_delta(promise.epsilon, np.zeros(outputs), (wide / narrow) ** 2, 1.0)
    refuted = delta > promise.delta * (1 + TOLERANCE) + 1e-8
    return Evaluated(
        refuted, math.inf if promise.delta == 0 else 0.0, promise, f"{words}: delta is at least {delta:.3g}"
    )


def _coefficients(content: Mapping[str, Any], promise: Promise) -> Evaluated:
    participation = Participation(**content["participation"])
    encoder = np.asarray(content["encoder"], dtype=float)
    found = coefficients_of(
        encoder, int(content["steps"]), noise_multiplier=float(content["noise_multiplier"]), participation=participation
    )
    verdict = judged(found, promise, content["adjacency"])
    return Evaluated(verdict.refuted, verdict.spent[0], promise, f"mu is at least {verdict.low:.9g}: {verdict.rule}")


def _curve(content: Mapping[str, Any], promise: Promise) -> Evaluated:
    low, _ = event_interval(event_of(content["event"]), promise)
    return _judged(low, promise, "by the exact curve of the event, or its lower bound", content)


def _judged(spent: float, promise: Promise, words: str, content: Mapping[str, Any]) -> Evaluated:
    narrow = content.get("narrow", False) is True
    return Evaluated(exceeds(spent, promise, TOLERANCE_NARROW if narrow else TOLERANCE), spent, promise, words)


def _finite(value: Any) -> None:
    """Raises `DomainError` for nan and inf: a shift of nan would count as one without end."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            _finite(one)
    elif isinstance(value, float) and not math.isfinite(value):
        raise DomainError("number", value, "finite")


def _family(name: Any) -> Measured:
    if name not in ("gaussian", "laplace"):
        raise DomainError("family", name, "gaussian or laplace")
    return name


def _alpha(number: Any) -> float:
    if not 0 < float(number) <= LARGEST_ALPHA:
        raise DomainError("alpha", number, f"a number in (0, {LARGEST_ALPHA:g}]")
    return float(number)


_KINDS = {
    "scale": _scale,
    "declared": _declared,
    "singular": _singular,
    "event": _event,
    "means": _means,
    "scales": _scales,
    "coefficients": _coefficients,
    "curve": _curve,
}
