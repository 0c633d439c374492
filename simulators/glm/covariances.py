"""The covariances of glm Section 6, by each of the ways in which the text can be read.

>>> sigma = random_covariance("rotated", 3, np.random.default_rng(0))
>>> sigma.shape, bool(np.allclose(sigma, sigma.T)), bool(np.linalg.eigvalsh(sigma).max() <= 1)
((3, 3), True, True)
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import choice, count

Reading = Literal["diagonal", "rotated", "identity"]
LARGEST_P = 2000


@typed
def random_covariance(reading: Reading, p: int, generator: np.random.Generator) -> np.ndarray:
    """A covariance of size p.

    - `diagonal`: entries uniform on [0, 1];
    - `rotated`: the same eigenvalues in uniformly random directions, Q D Q^T: one way to read "a random orthogonal
      matrix";
    - `identity`: the other, since I is the only orthogonal matrix that is a covariance (Q Q^T = I).
    """
    choice("reading", reading, get_args(Reading))
    p = count("p", p, most=LARGEST_P)
    if reading == "identity":
        return np.eye(p)
    values = generator.uniform(0.0, 1.0, p)
    if reading == "diagonal":
        return np.diag(values)
    basis, triangle = np.linalg.qr(generator.standard_normal((p, p)))
    basis = basis * np.sign(np.diag(triangle))  # else not uniform
    return (basis * values) @ basis.T
