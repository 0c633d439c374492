"""The budget of the two stages: what it refuses, how it is shared, what noise it leads to."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpbounds import DomainError
from dpbounds.iv import TwoStageBudget, joint_cost, noise_scales


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"rho1": 0.0}, "rho1"),
        ({"rho2": math.nan}, "rho2"),
        ({"gamma1": -1.0}, "gamma1"),
        ({"gamma2": math.nan}, "gamma2"),
        ({"lambda1": -1.0}, "lambda1"),
        ({"lambda2": math.inf}, "lambda2"),
        ({"calibration": "loose"}, "calibration"),
        ({"adjacency": "one"}, "adjacency"),
    ],
)
def test_fields_out_of_range(fields: dict[str, Any], name: str) -> None:
    with pytest.raises(DomainError, match=f"^{name} = "):
        TwoStageBudget(**fields)


def test_the_same_total_in_other_shares() -> None:
    even = TwoStageBudget.even(10.0, gamma1=3.0, calibration="tight")
    assert (even.rho1, even.rho2, even.gamma1, even.share, even.least) == (5.0, 5.0, 3.0, 0.5, 5.0)
    assert even.split(0.3).rho1 == pytest.approx(3.0) and even.split(0.3).total == pytest.approx(10.0)
    assert even.split(1.0).rho2 == pytest.approx(0.2) and even.split(0.3).calibration == "tight"
    with pytest.raises(DomainError, match="finite"):
        TwoStageBudget.even(math.inf).split(0.5)


def test_noise_that_is_given_stands() -> None:
    budget = TwoStageBudget.equal(2.0, 3.0, lambda1=0.5)
    written = budget.calibrated(100, 7)
    assert written.lambda1 == 0.5 and written.lambda2 == float(noise_scales(budget, 100, 7).lambda2)
    assert noise_scales(written, 100, 50).lambda2 == written.lambda2
    assert joint_cost(budget, 100, 7) == joint_cost(written, 100, 7)


def test_a_budget_without_a_clip_norm_has_no_noise() -> None:
    with pytest.raises(DomainError, match=r"^gamma2 = inf .* finite where rho2 is; or give lambda2"):
        noise_scales(TwoStageBudget(rho2=1.0), 100, 5)
    assert [float(scale) for scale in noise_scales(TwoStageBudget(), 100, 5)] == [0.0, 0.0]
    with pytest.raises(DomainError, match=r"^gamma1 = inf"):
        joint_cost(TwoStageBudget(gamma2=1.0, lambda1=1.0, lambda2=1.0), 100, 5)
