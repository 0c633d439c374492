"""Risk bounds of paper ols: Theorems 1 and 2, Proposition 4, Appendix E, and what is chosen by them.

All bound the sum ||X theta - X theta*||², for rows of norm at most 1 and |y| <= `outcome_bound`. The paper's hide
constants in O(.): the argument `constant`, 1 unless given (`utility` has all of its own). `multiplier` is gamma_hess,
gamma_mix or gamma_ASSP of Table 1, not the gamma of the noise. `lambda_min` is the least eigenvalue of X'X,
`joint_lambda_min` that of (X, Y)'(X, Y), `residual` L(theta*), `signal` ||X theta*||², `theta_squared` ||theta*||².

>>> sketch_size(10, 1e-7, 3)
111
>>> round(adassp_multiplier(1.0, 1e-6, 1e-7, 10), 1)
53.5
"""

from __future__ import annotations

import math

from dpbounds.arguments import typed
from dpbounds.errors import count, moderate, moderate_or_zero, within
from dpbounds.ols.features import Features
from dpbounds.values import Value

RATE = "the constant of O(.) as given"


def hessian_multiplier(epsilon: float, delta: float, failure: float, d: int, steps: int) -> float:
    """gamma_hess = sqrt(T max{d, log(T/failure)} log(1/delta)) / epsilon (Section 3)."""
    steps = count("steps", steps)
    return math.sqrt(steps) * _multiplier(epsilon, delta, _larger(d, steps, failure))


def mixing_multiplier(epsilon: float, delta: float, failure: float, d: int) -> float:
    """gamma_mix = sqrt(max{d, log(1/failure)} log(1/delta)) / epsilon (Section 4.2)."""
    return _multiplier(epsilon, delta, _larger(d, 1, failure))


def adassp_multiplier(epsilon: float, delta: float, failure: float, d: int) -> float:
    """gamma_ASSP = sqrt(d log(d²/failure) log(1/delta)) / epsilon (Section 4.1)."""
    d = count("d", d)
    return _multiplier(epsilon, delta, d * math.log(d**2 / within("failure", failure, "(0, 1]")))


@typed
def hessian_mixing(
    multiplier: float, features: Features, *, steps: int, outcome_bound: float = 1.0, constant: float = 1.0
) -> Value:
    """Theorem 1, (4): 4^-T ||X theta*||² + the bound of `adassp` at gamma_hess; with probability 1 - failure."""
    first = 4.0 ** -count("steps", steps, least=0) * features.signal
    rest = adassp(multiplier, features, outcome_bound=outcome_bound, constant=constant)
    return Value(first + rest, kind="asymptotic", source="ols Thm 1, (4)", convention=RATE)


@typed
def adassp(multiplier: float, features: Features, *, outcome_bound: float = 1.0, constant: float = 1.0) -> Value:
    """Proposition 4, (14): gamma (C_Y² + ||theta*||²) min{1, gamma / lambda^X}, gamma = gamma_ASSP."""
    multiplier = moderate("multiplier", multiplier)
    scale = moderate("outcome_bound", outcome_bound) ** 2 + features.theta_squared
    eigenvalue = 1.0 if features.lambda_min < multiplier else multiplier / features.lambda_min
    number = moderate("constant", constant) * multiplier * scale * eigenvalue
    return Value(number, kind="asymptotic", source="ols Prop. 4, (14)", convention=RATE)


@typed
def linear_mixing(multiplier: float, features: Features, *, outcome_bound: float = 1.0, constant: float = 1.0) -> Value:
    """Theorem 2, (15), of Algorithm 5, gamma = gamma_mix, a = gamma (1 + C_Y²): a (1 + ||theta*||²) + L - lambda^XY (1
    + ||theta*||²) if lambda^XY < a, else a L / lambda^XY.
    """
    a, joint, size = _joint_level(multiplier, outcome_bound), features.joint_lambda_min, 1 + features.theta_squared
    below = a * size + features.residual - joint * size
    number = moderate("constant", constant) * (below if joint < a else a * features.residual / joint)
    return Value(number, kind="asymptotic", source="ols Thm 2, (15)", convention=RATE)


@typed
def linear_mixing_at(
    multiplier: float, features: Features, level: float, *, outcome_bound: float = 1.0, constant: float = 1.0
) -> Value:
    """Appendix E, (147): at the noise level eta² + lambda^XY = `level`, lambda^XY known; (149) at `best_level`."""
    a, joint, level = _joint_level(multiplier, outcome_bound), features.joint_lambda_min, moderate("level", level)
    below = a + (level - joint) * features.theta_squared + a * (features.residual - joint) / level
    number = moderate("constant", constant) * (below if joint < level else a * features.residual / joint)
    return Value(number, kind="asymptotic", source="ols App. E, (147)", convention=RATE)


@typed
def best_level(multiplier: float, features: Features, *, outcome_bound: float = 1.0) -> float:
    """(148): max{lambda^XY, sqrt(a (L - lambda^XY)) / ||theta*||, a}, which minimises (147); inf at theta* = 0."""
    a, joint, squared = _joint_level(multiplier, outcome_bound), features.joint_lambda_min, features.theta_squared
    reach = a * max(features.residual - joint, 0.0)
    middle = math.sqrt(reach / squared) if squared > 0 else math.inf if reach > 0 else 0.0
    return max(joint, middle, a)


def sketch_size(d: int, failure: float, steps: int, *, factor: float = 6.0) -> int:
    """factor max{d, log(4 steps / failure)}, rounded down; 6 in the experiments (Section 5)."""
    number = moderate("factor", factor) * max(count("d", d), math.log(4 * count("steps", steps) / _failure(failure)))
    return max(int(number), 1)


def balancing_steps(
    epsilon: float, delta: float, failure: float, *, n: int, d: int, lambda_min: float, clip_ratio: float = 1.0
) -> int:
    """The T that makes both terms of (4) equal, with ||X theta*||² <= n C_Y², scale C² and no factors of T; at least 1.

    (5) corrected: with g = sqrt(max{d, log(1/failure)} log(1/delta)) and B = C / C_Y = `clip_ratio`, 4^T = (epsilon n /
    B²) / min{g, g² / (epsilon lambda_min)}. (5) prints g² / lambda_min, and gives 0 where its first branch begins.
    """
    epsilon = moderate("epsilon", epsilon)
    g = epsilon * mixing_multiplier(epsilon, delta, failure, d)
    least = moderate_or_zero("lambda_min", lambda_min)
    smaller = min(g, g**2 / (epsilon * least)) if least > 0 else g
    ratio = epsilon * count("n", n) / moderate("clip_ratio", clip_ratio) ** 2 / smaller
    return max(math.ceil(math.log(ratio) / math.log(4)), 1)


def printed_balancing_steps(
    epsilon: float, delta: float, failure: float, *, n: int, d: int, lambda_min: float, clip_ratio: float = 1.0
) -> int:
    """T~ of (5) as printed; what the experiments' T = 3 comes from."""
    epsilon = moderate("epsilon", epsilon)
    g = epsilon * mixing_multiplier(epsilon, delta, failure, d)
    reach = epsilon * count("n", n) / moderate("clip_ratio", clip_ratio) ** 2
    if reach < g:
        return 1
    least = moderate_or_zero("lambda_min", lambda_min)
    return math.ceil(math.log(reach / (min(g, g**2 / least) if least > 0 else g)) / math.log(4))


def one_step_signal(multiplier: float, lambda_min: float, *, clip: float = 1.0) -> float:
    """(6): up to this ||X theta*||², times a constant, one iteration balances (4): C² gamma_mix min{1, gamma_mix /
    lambda_min}.
    """
    return float(adassp(multiplier, Features(lambda_min=lambda_min), outcome_bound=clip))


def _multiplier(epsilon: float, delta: float, dimension: float) -> float:
    return math.sqrt(dimension * math.log(1 / within("delta", delta, "(0, 1)"))) / moderate("epsilon", epsilon)


def _larger(d: int, steps: int, failure: float) -> float:
    return max(count("d", d), math.log(steps / _failure(failure)))


def _failure(failure: float) -> float:
    return within("failure", failure, "(0, 1]")


def _joint_level(multiplier: float, outcome_bound: float) -> float:
    """a = gamma_mix (1 + C_Y²)."""
    return moderate("multiplier", multiplier) * (1 + moderate("outcome_bound", outcome_bound) ** 2)
