"""Tables that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.iv import scaled_data

RNG = np.random.default_rng(0)
TABLE = {name: RNG.standard_normal(30) for name in ("z", "x", "y")}
ROLES: dict[str, Any] = {"instruments": ["z"], "regressors": ["x"], "outcome": "y"}


@pytest.mark.parametrize(
    ("table", "roles", "words"),
    [
        ({}, {"instruments": ["v"]}, "column v = KeyError"),
        ({"z": np.array(["a"] * 30)}, {}, "column z = ValueError"),
        ({"z": np.ones(29)}, {}, "of one length"),
        ({"z": np.ones(30)}, {}, "column z = one value"),
        ({"x": np.full(30, 1e60)}, {}, "column x .*change units"),
        ({}, {"instruments": ["z", "z"]}, "named once"),
        ({}, {"regressors": ["x", "z"]}, "at least as many as regressors, 2"),
        ({}, {"outcome": "x"}, "neither instrument nor regressor"),
        ({}, {"scale": "log"}, "scale = log"),
        ({name: column[:2] for name, column in TABLE.items()}, {}, "2 complete records"),
    ],
)
def test_columns_that_do_not_fit(table: dict[str, Any], roles: dict[str, Any], words: str) -> None:
    with pytest.raises(DomainError, match=words):
        scaled_data({**TABLE, **table}, **{**ROLES, **roles})


def test_columns_are_left_as_they_are() -> None:
    data = scaled_data(TABLE, **ROLES, scale="none")
    assert np.array_equal(data.Z[:, 0], TABLE["z"]) and np.array_equal(data.unit, [1.0])
