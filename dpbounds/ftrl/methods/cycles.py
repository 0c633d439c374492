"""Losses on which a method without noise goes round for ever, so that nothing shows that it is stable on the class.

With y_t the corners of a regular polygon with K corners, zeta = e^{2 pi i / K} and complex numbers for the plane, the
method needs grad F(y_t) = y_t / G(zeta), G = C (zeta - A)^{-1} B. The loss

    F(y) = L |y|^2 / 2 - (L - mu) dist(y, P)^2 / 2,   grad F(y) = mu y + (L - mu) (the point of P nearest to y),

is mu-strongly convex and L-smooth for every convex P, with its minimum at 0 where 0 is in P. P with the corners v_t =
(1 / G - mu) y_t / (L - mu) gives these gradients if v_t is the nearest to y_t: <y_t - v_t, v_s - v_t> <= 0 for all s
(Goujaud, Taylor and Dieuleveut 2023, for heavy ball; here for every linear method). That is shown in ball arithmetic.

>>> from dpbounds.ftrl.methods.linear import heavy_ball
>>> found = find_cycle(heavy_ball(eta=3.3, momentum=0.67), 0.01, 1.0)
>>> found.corners, find_cycle(heavy_ball(eta=0.1, momentum=0.5), 0.1, 1.0) is None
(3, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.arithmetic import balls
from dpbounds.errors import DomainError, positive
from dpbounds.ftrl.methods.linear import LinearMethod

# Corners tried.
MOST_CORNERS = 400


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """`corners` y_t = e^{2 pi i t / corners} of a run without noise, and v_0 of P, `nearest`: both times any number."""

    corners: int
    nearest: complex

    @property
    def sentence(self) -> str:
        """In words."""
        return (
            "storage program: no function of the state, whatever its memory, shows a bound on this class; without "
            f"noise the method goes round {self.corners} points for ever on a loss of the class, proved: take smaller "
            "steps or less momentum"
        )


@typed
def find_cycle(method: LinearMethod, mu: float, L: float) -> Cycle | None:
    """The polygon with the fewest corners, up to 400, on which the method stays; None where none is found.

    Raises `DomainError` unless 0 < mu < L.
    """
    low, high = positive("mu", mu), positive("L", L)
    if not low < high:
        raise DomainError("mu", low, f"below L = {high:g}")
    for corners in range(2, MOST_CORNERS + 1):
        turn = np.exp(2j * np.pi / corners)
        gain = complex(method.C @ np.linalg.solve(turn * np.eye(len(method.A)) - method.A, method.B + 0j))
        if gain == 0:
            continue
        nearest = (1 / gain - low) / (high - low)
        others = nearest * (np.exp(2j * np.pi * np.arange(1, corners) / corners) - 1)
        inside = np.real(np.conj(1 - nearest) * others)
        if inside.max() < 0 and _proved(method, low, high, corners):
            return Cycle(corners=corners, nearest=nearest)
    return None


def _proved(method: LinearMethod, mu: float, L: float, corners: int) -> bool:
    """Whether balls show that every corner but v_0 is strictly behind it, seen from y_0 = 1."""
    from flint import acb, acb_mat, arb

    def number(x: float) -> Any:
        return acb(arb(float(x)))

    size = len(method.A)
    with balls():
        turns = [acb(2 * arb(k) / corners).exp_pi_i() for k in range(1, corners)]
        shifted = acb_mat([[turns[0] * int(i == j) - number(method.A[i, j]) for j in range(size)] for i in range(size)])
        try:
            state = shifted.solve(acb_mat([[number(x)] for x in method.B]))
        except ZeroDivisionError:
            return False
        gain = sum((number(c) * state[i, 0] for i, c in enumerate(method.C)), acb(0))
        nearest = (1 / gain - number(mu)) / (number(L) - number(mu))
        away = (1 - nearest).conjugate()
        return all(bool((away * nearest * (turn - 1)).real < 0) for turn in turns)
