"""The rates of glm Theorems 8, 14, 17, 22 and 25 and their sample sizes; constants that the paper leaves open are
arguments, 1 by default. Logarithms are natural.

`Rate` terms have the paper's dependence on every named argument: Sigma through its spectral norm and least eigenvalue
lambda, varrho = sqrt(rho_2) rho_inf of its condition numbers, omega = ||w*||_inf, Lambda = sqrt(lambda)
min{sqrt(lambda), 1}, delta, xi = `failure`, budgets of one user's message (local, any two records).

>>> sigma = Covariance.of(np.diag([1.0, 0.25]))
>>> sigma.norm, sigma.least
(1.0, 0.25)
>>> rate = gaussian_rate(1.0, sigma, 4.0, p=2, n=10**8, m=10**6, epsilon=1.0, delta=1e-8, failure=0.1)
>>> f"{rate.privacy:.5f} + {rate.public:.5f}"
'0.01448 + 0.00009'
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dpbounds.arguments import formula, typed
from dpbounds.errors import count, nonnegative, positive, vector, within
from dpbounds.glm.scale import positive_definite
from dpbounds.values import Value


@typed
@dataclass(frozen=True, kw_only=True)
class Covariance:
    """What the rates need to know of Sigma = E[x x^T]."""

    norm: float
    least: float
    varrho: float = 1.0
    root_row_norm: float = 1.0

    def __post_init__(self) -> None:
        for name in ("norm", "least", "varrho", "root_row_norm"):
            positive(name, getattr(self, name))

    @classmethod
    def of(cls, covariance: Float[np.ndarray, "p p"]) -> Covariance:
        """From the matrix: spectral norm, least eigenvalue, sqrt(rho_2) rho_inf and ||Sigma^{1/2}||_inf."""
        matrix = positive_definite("covariance", covariance)
        values, vectors = np.linalg.eigh(matrix)
        root = (vectors * np.sqrt(values)) @ vectors.T
        inverse = (vectors / np.sqrt(values)) @ vectors.T
        rows = float(np.abs(root).sum(axis=1).max())
        condition = rows * float(np.abs(inverse).sum(axis=1).max())
        spread = math.sqrt(values[-1] / values[0])
        return cls(norm=float(values[-1]), least=float(values[0]), varrho=spread * condition, root_row_norm=rows)

    @property
    def capital_lambda(self) -> float:
        """sqrt(lambda) min{sqrt(lambda), 1}."""
        root = math.sqrt(self.least)
        return root * min(root, 1.0)


@dataclass(frozen=True, kw_only=True)
class Rate:
    """An upper bound by term, up to constants: of the privacy noise, of the public sample, of the bias."""

    privacy: Value
    public: Value
    bias: Value

    @property
    def total(self) -> Value:
        """Their sum."""
        return Value(self.privacy + self.public + self.bias, kind="asymptotic", source=self.privacy.source)


@formula
def log_factor(delta: float, p: int, failure: float, *, squared: bool = False) -> float:
    """l' = sqrt(log(1 / delta) log(p / xi^2)) of the theorems on bounded slopes; `squared`: l, log(p^2 / xi)."""
    delta, failure = within("delta", delta, "(0, 1)"), within("failure", failure, "(0, 1)")
    p = count("p", p)
    inner = math.log(p * p / failure) if squared else math.log(p / failure**2)
    return math.sqrt(math.log(1.0 / delta) * inner)


@formula
def noise_level(
    covariance: Covariance, epsilon: float, delta: float, n: int, p: int, failure: float, *, squared: bool = False
) -> float:
    """eta' = l' / (epsilon Lambda sqrt n), and eta with l."""
    factor = log_factor(delta, p, failure, squared=squared)
    return factor / (positive("epsilon", epsilon) * covariance.capital_lambda * math.sqrt(count("n", n)))


@formula
def gaussian_rate(
    w_norm: float,
    covariance: Covariance,
    c: float,
    *,
    p: int,
    n: int,
    m: int,
    epsilon: float,
    delta: float,
    failure: float,
    constants: tuple[float, float] = (1.0, 1.0),
) -> Rate:
    """glm Theorem 8 and, with c_f for c_Phi, Theorem 22: ||w_hat - w*||_2 for Gaussian x.

    ||Sigma||^{3/2} p^{3/2} ||w*||^2 log(n / xi) eta' / c^2 and ||Sigma||^{1/2} ||w*||^2 sqrt(p / m) / c^2.
    """
    size = (positive("w_norm", w_norm) / positive("|c|", abs(c))) ** 2
    level = noise_level(covariance, epsilon, delta, n, p, failure)
    privacy = constants[0] * covariance.norm**1.5 * p**1.5 * size * math.log(n / failure) * level
    public = constants[1] * math.sqrt(covariance.norm * p / count("m", m)) * size
    return _rate("glm Theorem 8", privacy, public, 0.0)


@formula
def gaussian_sample_sizes(
    w_norm: float,
    covariance: Covariance,
    c: float,
    *,
    p: int,
    n: int,
    epsilon: float,
    delta: float,
    failure: float,
    tau: float = 1.0,
    largest_scale: float = 1.0,
    constants: tuple[float, float] = (1.0, 1.0),
) -> tuple[Value, Value]:
    """What glm (3) and (4) ask of n (at this n in its logarithm) and of m."""
    size = (positive("w_norm", w_norm) / (positive("tau", tau) * positive("|c|", abs(c)))) ** 2
    squared = math.log(1.0 / delta) * math.log(p * p / failure)
    privacy = covariance.norm**3 * p**3 * size * math.log(n / failure) ** 2 * squared
    private = constants[0] * largest_scale**4 * privacy / (epsilon * covariance.capital_lambda) ** 2
    public = constants[1] * covariance.norm * size * p
    return _value("glm (3)", private), _value("glm (4)", public)


@formula
def general_rate(
    omega: float,
    covariance: Covariance,
    *,
    p: int,
    n: int,
    m: int,
    epsilon: float,
    delta: float,
    failure: float,
    constants: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> Rate:
    """glm Theorems 14 and 25: ||w_hat - w*||_inf for ||x||_1 <= r, r and the moments O(1).

    K ||Sigma||^{1/2} p (eta' + 1 / sqrt m) with K = varrho^2 omega^2 max{1, omega^2}, and varrho^2 ||Sigma^{1/2}||_inf
    omega^3 max{1, omega} / sqrt p.
    """
    omega = positive("omega", omega)
    K = (covariance.varrho * omega) ** 2 * max(1.0, omega**2) * math.sqrt(covariance.norm) * p
    bias = covariance.varrho**2 * covariance.root_row_norm * omega**3 * max(1.0, omega) / math.sqrt(p)
    privacy = constants[0] * K * noise_level(covariance, epsilon, delta, n, p, failure)
    return _rate("glm Theorem 14", privacy, constants[1] * K / math.sqrt(count("m", m)), constants[2] * bias)


@formula
def general_sample_sizes(
    omega: float,
    covariance: Covariance,
    *,
    p: int,
    epsilon: float,
    delta: float,
    failure: float,
    squared: bool = False,
    constants: tuple[float, float] = (1.0, 1.0),
) -> tuple[Value, Value]:
    """What glm Theorem 14 asks of n and of m; `squared`: of n as Theorem 17 does, with log(p^2 / xi)."""
    size = (covariance.varrho * positive("omega", omega) * p) ** 2 * max(1.0, omega**2)
    inner = math.log((p * p if squared else p) / within("failure", failure, "(0, 1)"))
    logs = math.log(1.0 / within("delta", delta, "(0, 1)")) * inner
    private = constants[0] * covariance.norm**2 * size * logs
    return (
        _value("glm (7)", private / (positive("epsilon", epsilon) * covariance.capital_lambda) ** 2),
        _value("glm (6)", constants[1] * covariance.norm * size),
    )


@formula
def unbounded_rate(
    omega: float,
    covariance: Covariance,
    *,
    p: int,
    n: int,
    m: int,
    epsilon: float,
    delta: float,
    failure: float,
    mu_tilde: float,
    constants: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> Rate:
    """glm Theorem 17, slopes that need not be bounded; mu_tilde = E ||x||_2 / sqrt p."""
    omega, varrho = positive("omega", omega), covariance.varrho
    level = noise_level(covariance, epsilon, delta, n, p, failure, squared=True)
    privacy = constants[0] * p * varrho**2 * math.sqrt(covariance.norm) * omega * max(1.0, omega**3) * level
    spread = math.sqrt(p * p * math.log(count("m", m, 2)) / m) / positive("mu_tilde", mu_tilde)
    bias = (varrho * omega) ** 2 * max(1.0, omega**2) / math.sqrt(p)
    return _rate(
        "glm Theorem 17", privacy, constants[1] * varrho * omega * max(1.0, omega) * spread, constants[2] * bias
    )


@formula
def bias_bound(
    omega: float, varrho: float, *, p: int, lipschitz: float, radius: float, kappa: float, constant: float = 16.0
) -> Value:
    """glm Lemma 12 and Theorem 24: ||w* / c - w_ols||_inf <= 16 G r kappa^3 varrho omega^2 / sqrt p."""
    size = lipschitz * positive("radius", radius) * kappa**3 * varrho * nonnegative("omega", omega) ** 2
    return Value(constant * size / math.sqrt(count("p", p)), kind="upper", source="glm Lemma 12")


@formula
def norm_quantile(eigenvalues: Float[np.ndarray, " p"], t: float) -> Value:
    """glm Lemma 6: ||x||^2 is below Tr Sigma + 2 sqrt(t Tr Sigma^2) + 2 t ||Sigma|| with probability 1 - e^-t."""
    spectrum, t = vector("eigenvalues", eigenvalues, above=0.0), positive("t", t)
    bound = spectrum.sum() + 2.0 * math.sqrt(t * float(spectrum @ spectrum)) + 2.0 * t * spectrum.max()
    return Value(float(bound), kind="upper", source="glm Lemma 6")


def _rate(source: str, privacy: float, public: float, bias: float) -> Rate:
    return Rate(privacy=_value(source, privacy), public=_value(source, public), bias=_value(source, bias))


def _value(source: str, number: float) -> Value:
    return Value(number, kind="asymptotic", source=source)
