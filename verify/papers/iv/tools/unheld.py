"""Where clipped gradients cannot hold beta: a lower bound of its error over (7), for every number of steps."""

from __future__ import annotations

from typing import Any

from dpbounds.iv.budgets import noise_scale

# The quotient is taken at T = FEW s, p = q = 1. BUDGET is n^2 rho_2, at least Q^6 = (1 + sqrt(5))^6 as (6) asks with
# c_1 = 1.
FEW, BUDGET, TAU = 10**4, 1152, 5


def over_bound(m: Any, s: Any, *, n: int, alpha: str) -> Any:
    """A lower bound of the median of |beta_T - beta_hat| over an upper bound of (7), constants 1, min(rho) = rho_2.

    The last k noises are independent of all before and keep the distance z sqrt(k) alpha lambda_2 from every point with
    probability 1/2, z = 0.674; k clipped gradients undo alpha k gamma of it. With x = (z lambda_2 / (2 gamma))² >= 1
    and k the whole part of x, x / 2 <= k <= x, what is left is alpha gamma (2 sqrt(x k) - k) >= alpha gamma x (sqrt(2)
    - 1/2).
    """
    T = FEW * s
    return _left(m, n, alpha) * _clip_norm(m, n, s) * T / (1 + TAU / m.sqrt(m.number(n)) + _unit(m) * m.sqrt(T))


def over_bound_reduced(m: Any, x: Any, *, n: int, alpha: str) -> Any:
    """The same times sqrt(x) with gamma at s = 1, from where it grows."""
    below = (1 + TAU / m.sqrt(m.number(n))) * m.sqrt(x) + _unit(m) * m.sqrt(m.number(FEW))
    return _left(m, n, alpha) * _clip_norm(m, n, m.number(1)) * FEW / below


def _left(m: Any, n: int, alpha: str) -> Any:
    """alpha x (sqrt(2) - 1/2) / T: lambda_2 / gamma of (4) is sqrt(T) times what it is at T = 1."""
    z = m.ndtri(m.number("3/4"))
    noise = noise_scale(m, n, 1, m.number(BUDGET) / n**2, m.number(1), 2)
    return m.number(alpha) * z * z * noise * noise / 4 * (m.sqrt(m.number(2)) - 0.5)


def _clip_norm(m: Any, n: int, s: Any) -> Any:
    """(4) with c_0 = 1 at T = FEW s."""
    root = 1 + m.sqrt(TAU + m.log(n * FEW * s))
    return root * root


def _unit(m: Any) -> Any:
    """Q^3 / (n sqrt(rho_2))."""
    Q = 1 + m.sqrt(m.number(TAU))
    return Q * Q * Q / m.sqrt(m.number(BUDGET))
