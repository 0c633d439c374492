"""What floats found at points, counterexamples and facts, decided again by the claim's own code in balls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from flint import arb, ctx

from verify.certain.arrays import Draws
from verify.certain.linear import LINALG
from verify.certain.numbers import PRECISION, Ball, Uncertain, Unsupported, Work, lift
from verify.certain.world import world
from verify.checks import Agreement, Fact, GaussianPrivacy, Holds, Search, Within
from verify.checks.base import Check
from verify.statements.claims import Claim
from verify.statements.clauses import Form

# How near, relatively, a number has to be to what floats had for it.
AGREED = 1e-6
# Balls that one evaluation may make: about a second.
MOST_WORK = 300_000
# What an evaluation may end in without saying anything: the claim then stands on floats.
SILENT = (Uncertain, Unsupported, TypeError, ValueError, ArithmeticError, AttributeError, LookupError)


def refuted(home: str, claim: str, form: Form, number: int, found: Mapping[str, Any], rng: np.random.Generator) -> bool:
    """Whether check `number` on a form of the claim of the module `home` fails for certain where floats found it to.

    `found` is the counterexample, `rng` the generator with which the check was run. False where the balls leave it
    open, or where the claim's code needs what has no meaning for them.
    """
    with ctx.workprec(PRECISION), Work.limited(MOST_WORK):
        try:
            return _decided(dict(_again(home, claim).forms())[form][number], found, rng)
        except SILENT:
            return False


def agreed(home: str, claim: str, form: Form, number: int, rng: np.random.Generator) -> bool:
    """Whether all facts of that check, an `Agreement`, are so for certain, `rng` as for `refuted`."""
    with ctx.workprec(PRECISION), Work.limited(MOST_WORK):
        try:
            check = dict(_again(home, claim).forms())[form][number]
            return isinstance(check, Agreement) and all(map(_is_so, check.facts(cast(np.random.Generator, Draws(rng)))))
        except SILENT:
            return False


def _again(home: str, claim: str) -> Claim:
    """The claim, as its module has it in this arithmetic."""
    for value in vars(world().module(home)).values():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Claim) and item.id == claim:
                return item
    raise Unsupported(claim)


def _decided(check: Check, found: Mapping[str, Any], rng: np.random.Generator) -> bool:
    match check:
        case Search():
            return _violated(check, found)
        case Agreement():
            return _not_so(check, found, rng)
        case GaussianPrivacy():
            return _too_dear(check, found)
    return False


def _violated(check: Search, found: Mapping[str, Any]) -> bool:
    point = {name: _argument(found[name], vectorised=check.vectorised) for name in check.box}
    smaller, larger = map(_number, check.sides(**point))
    return smaller > larger and _like(smaller, found["smaller"]) and _like(larger, found["larger"])


def _like(value: Ball, known: float) -> bool:
    """Whether it is the number that floats had: what is decided here is what was found there."""
    return math.isclose(value.middle, known, rel_tol=AGREED, abs_tol=AGREED * AGREED)


def _argument(value: Any, *, vectorised: bool) -> Any:
    if isinstance(value, list) or vectorised:
        array = lift(np.asarray(value))
        return np.array([array], dtype=object) if vectorised else array
    return value if isinstance(value, int) else Ball(value)


def _number(value: Any) -> Ball:
    return Ball(value.ravel()[0] if isinstance(value, np.ndarray) else value)


def _not_so(check: Agreement, found: Mapping[str, Any], rng: np.random.Generator) -> bool:
    """The fact that failed is the first of its label that is not so."""
    facts = check.facts(cast(np.random.Generator, Draws(rng)))
    return any(fact.label == found["fact"] and _fails(fact, found) for fact in facts)


def _fails(fact: Fact | Within | Holds, found: Mapping[str, Any]) -> bool:
    if isinstance(fact, Holds):
        return not fact.truth
    if isinstance(fact, Within):
        observed = Ball(fact.observed)
        return bool(observed < fact.least or observed > fact.most) and _like(observed, found["observed"])
    observed, predicted = (_flat(value) for value in (fact.observed, fact.predicted))
    if len(observed) != len(predicted):
        return False
    gap, scale = _gap_and_scale(observed, predicted)
    if fact.tolerance == 0:
        return gap > 0
    return gap > fact.tolerance * scale and _like(gap / scale, found["difference"])


def _is_so(fact: Fact | Within | Holds) -> bool:
    if isinstance(fact, Holds):
        return bool(fact.truth)
    if isinstance(fact, Within):
        observed = Ball(fact.observed)
        return bool(observed >= fact.least and observed <= fact.most)
    observed, predicted = (_flat(value) for value in (fact.observed, fact.predicted))
    if len(observed) != len(predicted) or np.shape(fact.observed) != np.shape(fact.predicted):
        return False
    gap, scale = _gap_and_scale(observed, predicted)
    return bool(gap == 0 if fact.tolerance == 0 else gap <= fact.tolerance * scale)


def _gap_and_scale(observed: Sequence[Ball], predicted: Sequence[Ball]) -> tuple[Ball, Ball]:
    """The largest difference, and the largest size that is predicted, 1 if that is 0."""
    gap = _largest([abs(a - b) for a, b in zip(observed, predicted, strict=True)])
    scale = _largest([abs(value) for value in predicted])
    return gap, Ball(1) if scale == 0 else scale


def _too_dear(check: GaussianPrivacy, found: Mapping[str, Any]) -> bool:
    """The pair of that label: shift' S^{-1} shift / 2 of laws with the covariance S, above what is claimed."""
    for pair in check.pairs():
        if pair.label == found["pair"]:
            shift = np.asarray(pair.shift, dtype=object).reshape(len(pair.covariance), -1)
            cost = Ball((shift * LINALG.solve(pair.covariance, shift)).sum() / 2)
            return bool(cost > pair.claimed_rho) and _like(cost, found["exact"])
    return False


def _largest(values: Sequence[Ball]) -> Ball:
    largest = values[0].value
    for value in values[1:]:
        largest = largest.max(value.value)
    exact = next((value for value in values if value.exact is not None and arb(value.exact) == largest), None)
    return exact or Ball(largest)


def _flat(value: Any) -> Sequence[Ball]:
    return [Ball(entry) for entry in np.ravel(np.asarray(value, dtype=object))]
