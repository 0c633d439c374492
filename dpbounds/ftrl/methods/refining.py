"""The program solved again in the coordinates of its own worst case, until its value is known well.

Its units come from quadratics, which may be far from the worst case: an average, or noise that nearly cancels, leaves
little of a quadratic's error, and a millionth of the error of other losses. In such units a solver that reports eight
digits may have none. The prices of the program's inequality are the second moments of the worst case; in coordinates in
which these are 1 the next solution is right to ten digits or so, whatever the first was.

>>> from dpbounds.ftrl.correlations import damped_anti_pgd
>>> from dpbounds.ftrl.methods.coordinates import units
>>> from dpbounds.ftrl.methods.linear import gradient_descent
>>> from dpbounds.ftrl.methods.noises import noise_system
>>> from dpbounds.ftrl.methods.program import solve
>>> method, system = gradient_descent(eta=1.0).averaged(decay=0.999), noise_system(damped_anti_pgd(0.1), float)
>>> bare, loop = (Loop.of(method, system, 0.1, 1.0, memory, float, own_slope=True) for memory in (0, 1))
>>> def solved(scale, margin, tolerance):
...     return solve(loop, scale, "f", 1.0, 0.0, margin=margin, tolerance=tolerance)
>>> scale = units(bare, loop, 1.0, "f", 1.0, 0.0)
>>> search = Search(loop, solved, known, 1.0, 0.0)
>>> solved(scale, *PROVING[0]).error > 0.1, search.first(scale, lambda _: scale).error < ACCURATE
(True, True)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from dpbounds.errors import AccuracyError
from dpbounds.ftrl.methods.conic import unsolved
from dpbounds.ftrl.methods.coordinates import RIDGES, Units, turned
from dpbounds.ftrl.methods.loops import Loop
from dpbounds.ftrl.methods.program import MARGIN, Storage
from dpbounds.ftrl.methods.proof import Unproved

# By how much the program's inequalities are strict, in its units, and the accuracy asked of the solver, which stays
# further inside for less: the first that leave a proof are taken.
PROVING = ((MARGIN, 1e-11), (MARGIN, 1e-8), (1e-8, 1e-8), (1e-7, 1e-8), (3e-7, 1e-8), (6e-7, 1e-8), (1e-6, 1e-8))
# Where none of them does in any units, at the price of up to these shares of the value or a few times that: P has more
# digits than a float.
LAST = ((1e-5, 1e-8), (1e-4, 1e-8), (1e-3, 1e-8))
# The relative error of a value at which no better one is looked for, that up to which it is known, and solutions tried.
ACCURATE, CLOSE, ROUNDS = 1e-8, 1e-5, 5
# What is added to correlations of 1: a worst case may leave some coordinates at rest.
RIDGE = 1e-2
_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class Search(Generic[_Result]):
    """`solved` solves the program in units, with a margin and an accuracy; `accepted` makes a result of it, or raises
    `Unproved` where another margin may do and `AccuracyError` where other units may; `extra` as `program.solve` has it.
    """

    loop: Loop
    solved: Callable[[Units, float, float], Storage]
    accepted: Callable[[Storage], _Result]
    draws: float
    errors: float
    extra: np.ndarray | None = None

    def first(self, scale: Units, otherwise: Callable[[float], Units]) -> _Result:
        """What is accepted in these units, refined, or else in those that `otherwise` makes of a ridge; the first
        refusal where nothing is.
        """
        try:
            return self._accepted(scale)
        except AccuracyError as refusal:
            for ridge in RIDGES:
                try:
                    return self._accepted(otherwise(ridge))
                except AccuracyError:
                    continue
            if not isinstance(refusal, Unproved):
                raise
            return self._proved(*self.refined(scale), LAST)

    def _accepted(self, scale: Units) -> _Result:
        return self._proved(*self.refined(scale), PROVING[1:])

    def _proved(self, scale: Units, found: Storage, others: tuple[tuple[float, float], ...]) -> _Result:
        """What was found, or the first of the others whose proof holds."""
        for margin, tolerance in others:
            try:
                return self.accepted(found)
            except Unproved:
                found = self.solved(scale, margin, tolerance)
        return self.accepted(found)

    def refined(self, scale: Units) -> tuple[Units, Storage]:
        """Units and the solution in them, while its error falls; raises what `solved` does in the first units."""
        found = self.solved(scale, *PROVING[0])
        for _ in range(ROUNDS - 1):
            if found.error <= ACCURATE:
                break
            try:
                nearer = self._of_worst_case(scale, found)
                again = self.solved(nearer, *PROVING[0])
            except (AccuracyError, np.linalg.LinAlgError):
                break
            if not again.error < found.error:
                break
            scale, found = nearer, again
        return scale, found

    def _of_worst_case(self, scale: Units, found: Storage) -> Units:
        """Coordinates and units by the second moments that were found in those of `scale`."""
        loop, errors = self.loop, self.errors
        if self.extra is not None:
            errors += max(float(np.sum(self.extra * (scale.all @ found.moments @ scale.all.T))), 0.0)
        moved = scale.steps @ loop.step @ scale.all
        drives = [(self.draws, scale.steps @ loop.draw), (errors, scale.steps @ loop.error)]
        driven = sum((energy * np.outer(drive, drive) for energy, drive in drives), np.zeros((loop.size,) * 2))
        whole = turned(scale, found.moments, moved @ found.moments @ moved.T + driven, RIDGE)
        multiplier, value = float(np.max(found.multipliers, initial=0.0)), abs(found.value)
        return Units(whole.all, whole.steps, multiplier or scale.multiplier, value or scale.value)


def known(found: Storage) -> Storage:
    """The solution, if its value is known to `CLOSE`; else `AccuracyError`."""
    if not found.error <= CLOSE:
        raise unsolved(f"a relative error of {found.error:.1g}")
    return found
