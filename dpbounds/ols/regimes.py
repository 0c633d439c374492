"""Table 1 of ols for given data: the guarantees of AdaSSP, linear mixing and IHM by their four aspects, and which of
the three theory expects to win by them.

Rows have norm at most 1, |y| <= `outcome_bound`. Guarantees are rates: their constants are unknown and 1 here, so that
their order is a guide and no proof.

>>> data = Features(n=2000, d=2, lambda_min=20.0, residual=75.0, signal=25.0, theta_squared=0.29)
>>> regime(data, 1.0, 1e-6, failure=1e-7).expected
'AdaSSP'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dpbounds.arguments import typed
from dpbounds.errors import moderate
from dpbounds.ols import bounds
from dpbounds.ols.features import Features

# The methods that Table 1 compares.
Guaranteed = Literal["AdaSSP", "LinMix", "IHM"]
# What "small" and "about equal" mean where the paper leaves it open: ||theta*||² over C_Y² below, and between.
SMALL, ABOUT_EQUAL = 0.1, (0.1, 10.0)


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A row of Table 1: multiplier * scale * eigenvalue_term + additional, as the branch of the theorem has them."""

    method: Guaranteed
    multiplier: float
    scale: float
    eigenvalue_term: float
    additional: float

    @property
    def total(self) -> float:
        """The whole right side, constants 1."""
        return self.multiplier * self.scale * self.eigenvalue_term + self.additional


@dataclass(frozen=True, kw_only=True)
class Regime:
    """The rows of Table 1, and the properties that Section 4.3 compares them by.

    - `large_residual`: L(theta*) exceeds gamma_mix (1 + C_Y²) (1 + ||theta*||²), which costs linear mixing;
    - `well_conditioned`: lambda^X is at least gamma_ASSP and gamma_hess, which helps AdaSSP and IHM;
    - `only_x_conditioned`: so that alone, lambda^XY being below gamma_mix (1 + C_Y²);
    - `small_theta`: ||theta*||² is below 0.1 C_Y², which makes the scale of linear mixing irreducible;
    - `for_linear_mixing`: residual not large, ||theta*||² about C_Y², lambda^X below 1: all that it needs.
    """

    features: Features
    guarantees: tuple[Guarantee, ...]
    large_residual: bool
    well_conditioned: bool
    only_x_conditioned: bool
    small_theta: bool
    for_linear_mixing: bool

    @property
    def expected(self) -> Guaranteed:
        """The method with the least guarantee, constants 1."""
        return min(self.guarantees, key=lambda one: one.total).method


@typed
def regime(
    data: Features, epsilon: float, delta: float, *, failure: float, steps: int = 3, outcome_bound: float = 1.0
) -> Regime:
    """Table 1 at a budget; the conditions of Section 4.3 with constants 1."""
    squared, d = moderate("outcome_bound", outcome_bound) ** 2, data.d
    assp = bounds.adassp_multiplier(epsilon, delta, failure, d)
    mix = bounds.mixing_multiplier(epsilon, delta, failure, d)
    hess = bounds.hessian_multiplier(epsilon, delta, failure, d, steps)
    level, scale = mix * (1 + squared), squared + data.theta_squared
    large_residual = data.residual > level * (1 + data.theta_squared)
    well_conditioned = data.lambda_min >= max(assp, hess)
    return Regime(
        features=data,
        guarantees=(
            _by_lambda("AdaSSP", assp, scale, data.lambda_min, 0.0),
            _linear_mixing(mix, data, squared),
            _by_lambda("IHM", hess, scale, data.lambda_min, 4.0**-steps * data.signal),
        ),
        large_residual=large_residual,
        well_conditioned=well_conditioned,
        only_x_conditioned=well_conditioned and data.joint_lambda_min < level,
        small_theta=data.theta_squared < SMALL * squared,
        for_linear_mixing=not large_residual
        and ABOUT_EQUAL[0] * squared <= data.theta_squared <= ABOUT_EQUAL[1] * squared
        and data.lambda_min < 1,
    )


def _by_lambda(method: Guaranteed, multiplier: float, scale: float, lambda_min: float, additional: float) -> Guarantee:
    term = 1.0 if lambda_min < multiplier else multiplier / lambda_min
    return Guarantee(method=method, multiplier=multiplier, scale=scale, eigenvalue_term=term, additional=additional)


def _linear_mixing(multiplier: float, data: Features, squared: float) -> Guarantee:
    """(15): below gamma_mix (1 + C_Y²) the additional term, above it the eigenvalue term."""
    size = 1 + data.theta_squared
    below = data.joint_lambda_min < multiplier * (1 + squared)
    return Guarantee(
        method="LinMix",
        multiplier=multiplier,
        scale=size * (1 + squared),
        eigenvalue_term=1.0 if below else data.residual / (data.joint_lambda_min * size),
        additional=data.residual - data.joint_lambda_min * size if below else 0.0,
    )
