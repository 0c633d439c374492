"""iv App. F.2: private second moments by FriendlyCore averaging, then 2SLS. Counts and rates, constants 1.

>>> printed_moment_dimension(2, 5), moment_dimension(2, 5)
(16, 30)
"""

from __future__ import annotations

import math
from typing import Any

from dpbounds.arguments import formula
from dpbounds.errors import count, moderate, moderate_or_zero
from dpbounds.values import Value

# Dimensions beyond any use.
MOST = 10**9


@formula
def distinct_moments(p: Any, q: Any) -> Any:
    """Distinct coordinates of (Z'Z, Z'X, Z'Y) / n: q (q + 1) / 2 + pq + q, for numbers, arrays and symbols alike."""
    return q * (q + 1) / 2 + p * q + q


def moment_dimension(p: int, q: int) -> int:
    """`distinct_moments` of whole numbers p <= q.

    The paper's pq + p² + p counts X'X and X'Y in place of Z'Z and Z'Y: too few wherever q > p + O(1).
    """
    p, q = count("p", p, most=MOST), count("q", q, least=p, most=MOST)
    return int(distinct_moments(p, q))


def printed_moment_dimension(p: int, q: int) -> int:
    """pq + p² + p, as iv App. F.2 has it."""
    p, q = count("p", p), count("q", q)
    return p * q + p**2 + p


def average_error(dimension: int, n: int, rho: float, *, radius: float | None = None) -> Value:
    """r sqrt(d / rho) / n with the effective diameter r, sqrt(d) by default: d / (n sqrt(rho))."""
    d, n, rho = count("dimension", dimension), count("n", n), moderate("rho", rho)
    r = math.sqrt(d) if radius is None else moderate("radius", radius)
    return Value(r * math.sqrt(d / rho) / n, kind="asymptotic", source="iv App. F.2", convention="constant 1")


def printed_term(p: int, q: int, n: int, rho: float) -> Value:
    """pq / (n sqrt(rho)), the term that iv App. F.2 adds to the error of 2SLS.

    `average_error` with the true dimension is of order q² / (n sqrt(rho)): the same for q = O(p) only.
    """
    number = count("p", p) * count("q", q) / (count("n", n) * math.sqrt(moderate("rho", rho)))
    return Value(number, kind="asymptotic", source="iv App. F.2", convention="constant 1")


def lipschitz_constant(C_h: float, C_G: float, lambda_0: float) -> Value:
    """C_h / lambda_0 + C_G C_h / lambda_0²: of the 2SLS map, where H >= lambda_0 (iv App. F.2, after eq. (53)).

    C_h bounds ||h_2|| and is a Lipschitz constant of h, C_G one of G, both in the same norm of the moments.
    """
    C_h, C_G, lambda_0 = moderate_or_zero("C_h", C_h), moderate_or_zero("C_G", C_G), moderate("lambda_0", lambda_0)
    return Value(C_h / lambda_0 + C_G * C_h / lambda_0**2, kind="upper", source="iv App. F.2, after eq. (53)")
