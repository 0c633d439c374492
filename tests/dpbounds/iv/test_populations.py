"""Populations that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.iv import Population

SIZES: dict[str, Any] = {"n": 100, "p": 2, "q": 3}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"q": 1}, "q = 1 .*2SLS needs as many instruments"),
        ({"n": 2}, "n = 2 .*singular"),
        ({"p": 2.5}, "p = 2.5"),
        ({"tau": 0.0}, "tau"),
        ({"sigma_2": -1.0}, "sigma_2"),
        ({"singular_values": (1.0, 2.0, 3.0)}, "one number or p = 2"),
        ({"theta": np.ones((3, 2))}, "of rank p = 2"),
        ({"theta": np.eye(2)}, r"of shape \(3, 2\)"),
        ({"theta": np.eye(3, 2), "singular_values": (1.0,)}, "left out with theta"),
        ({"beta": (1.0,)}, "p = 2 numbers"),
        ({"instrument_covariance": np.triu(np.ones((3, 3)))}, "symmetric"),
        ({"q": 201, "n": 300, "instrument_covariance": np.eye(201)}, "at most 200"),
    ],
)
def test_fields_that_do_not_fit(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        Population(**{**SIZES, **fields})


def test_a_large_theta_is_kept_without_its_zeros() -> None:
    assert Population(n=10**6, p=50, q=10**5).rows.shape == (50, 50)
