"""Frequencies at which sin is near 1 at all of many points: classes of waves fit every sample (Kronecker)."""

from __future__ import annotations

import mpmath
import numpy as np
from flint import fmpz_mat

# Bits of the frequency for each point, and of each layer of a normal draw.
BITS, LAYER = 6, 40


def largest_mean_sine(m: int, rng: np.random.Generator) -> float:
    """The mean of sin(w x_i) over m draws x_i ~ N(0, 1), at a w of about `BITS` m bits that makes it nearly 1.

    w x_i / (2 pi) is to be near 1/4 modulo 1 for every i: a closest vector in a lattice, found by reducing it with that
    target as one more row. The draws have as many digits as w needs, layer by layer.
    """
    bits = BITS * m
    unit = 2**bits
    gap = unit >> (bits // (m + 1))
    layers = rng.standard_normal((bits // LAYER + 2, m))
    with mpmath.workprec(3 * bits + 100):
        x = [
            mpmath.fsum(mpmath.ldexp(mpmath.mpf(float(g)), -LAYER * i) for i, g in enumerate(draw)) for draw in layers.T
        ]
        turns = [int(mpmath.nint(unit * point / (2 * mpmath.pi))) for point in x]
        wholes = [[unit * (i == j) for j in range(m)] + [0, 0] for i in range(m)]
        reduced = fmpz_mat([[*turns, 1, 0], *wholes, [-(unit // 4)] * m + [0, gap]]).lll()
        rows = ([int(reduced[row, column]) for column in (m, m + 1)] for row in range(m + 2))
        w = next(w if end > 0 else -w for w, end in rows if abs(end) == gap)
        return float(mpmath.fsum(mpmath.sin(w * point) for point in x) / m)
