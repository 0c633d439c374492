"""Appendix B: the best noise for mean estimation, (19) to its end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from dpbounds.ftrl import mean_estimation as theory
from verify.checks import Agreement, Fact, Identity, Rate, Search, Times, Unbounded, Within
from verify.checks.domains import Real
from verify.papers.ftrl.paper.s2_1_mean_estimation_weights import LEAST, SCHWARZ
from verify.papers.ftrl.paper.sf_5_circle import DISTANCE_TURNED
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# --- (19) and the least value ---


def _product(spectrum: np.ndarray, eta: np.ndarray | float) -> np.ndarray:
    """(int |B|^2 / E_eta^2) (int |B|^{-2}) / (2 pi)^2 on the midpoints of a uniform grid, |B|^2 along the last axis."""
    gain = 1.0 / _best_spectrum(eta, spectrum.shape[-1]) ** 2
    return np.mean(spectrum * gain, axis=-1) * np.mean(1.0 / spectrum, axis=-1)


def _best_spectrum(eta: np.ndarray | float, n: int) -> np.ndarray:
    """|B*|^2 = |1 - eta - e^{i omega}| on the midpoints, eta along the first axis."""
    eta = np.asarray(eta)[..., None]
    return np.sqrt(eta**2 + 4 * (1 - eta) * np.sin(_grid(n) / 2) ** 2)


def _grid(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) * np.pi / n


def _perturbed(eta: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The product at B* and at |B*|^2 times the exponential of a cosine series."""
    best = _best_spectrum(eta, 256)
    series = np.cos(np.outer(1 + np.arange(logs.shape[1]), _grid(256)))
    return _product(best, eta), _product(best * np.exp(logs @ series), eta)


def _one_shape(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """The library's B* has the printed modulus; a constant multiple gives the same product, another shape does not."""
    for eta in (0.05, 0.5, 1.0):
        best = _best_spectrum(eta, 256)
        made = theory.optimal_correlation(eta).power_spectrum(_grid(256))
        yield Fact(f"|B*|^2, eta = {eta}", made, best, 1e-13)
        yield Fact(f"product at 2 B*, eta = {eta}", _product(4 * best, eta), _product(best, eta), 1e-13)
        other = _product(best * np.exp(0.1 * np.cos(_grid(256))), eta) / _product(best, eta)
        yield Within(f"product at another shape over that at B*, eta = {eta}", float(other), 1 + 1e-3)


EQ_19 = Claim(
    id="ftrl/eq-19",
    where="App. B, (19)",
    page=17,
    equation="(19)",
    kind="inequality",
    statement=(
        "The privacy part of (18) is least for $abs(B)^2 \\/ abs(1 - eta - e^(i omega))^2 = abs(B)^(-2)$, that is "
        "$abs(B(omega)) = abs(sqrt(1 - eta - e^(i omega)))$."
    ),
    remark="And for every constant multiple of this $B$, and no other: the product in (18) does not see the scale.",
    checks=(
        SCHWARZ,
        Search(
            sides=_perturbed,
            box={"eta": Real(0.05, 1.0, "log"), "logs": (Real(-2.0, 2.0), 6)},
            vectorised=True,
            impostors={"minimum 1 % too large": {"sides": Times(1.01, 1)}},
            role="control",
        ),
        Agreement(facts=_one_shape, impostors={"1 % off": {"facts": Times(1.01)}}, role="control"),
    ),
    derivation=Derivation(
        text=LEAST + "That is $abs(B)^2\\/E^2 = abs(B)^(-2)$ up to a constant, which the product does not see.",
        lemmas=("independence", "Parseval", "Cauchy-Schwarz"),
    ),
)


def _value_at_optimum(m, eta):
    """The privacy part of (18) at |B*|^2 = E_eta by quadrature, G = 1, rho = 1/2."""
    square, rest = eta**2, 4 * (1 - eta)
    integral = m.integral(lambda s: 1 / m.sqrt(square + rest * s))
    return (eta * integral / (2 * m.pi)) ** 2


def _printed_minimum(m, eta):
    """As printed, with sigma_dp^2 = gamma_inf(B*)^2 / (2 rho) of Theorem 2.1."""
    return theory.mean_inverse(m, eta) * theory.optimal_part(m, eta)


def _printed_integral(m, eta):
    return 4 / (2 - eta) * m.elliptic_k(m.sqrt(1 - eta) / (1 - eta / 2))


def _extra_factor(rng: np.random.Generator) -> Iterator[Fact]:
    """At eta = 1/10, G = 1, rho = 1/2 with M = 2 / pi K(1 - eta), the mean of Lemma F.15: (eta M)^2, printed M times
    that.
    """
    eta = 0.1
    mean = 2 / np.pi * special.ellipk((1 - eta) ** 2)
    yield Fact("least value at eta = 0.1", (eta * mean) ** 2, mean * (eta * mean) ** 2)


UNIT = {"eta": Real(1e-6, 1.0, "log")}

THM_2_1_OPT = Claim(
    id="ftrl/thm-2.1-opt",
    where="App. B, below (19)",
    page=17,
    kind="identity",
    statement=(
        "The least value is $(eta^2 G^2 sigma_(d p)^2)/(4 pi^2) (integral (dif omega) / abs(1 - eta - e^(i omega)))^2$ "
        "with $integral (dif omega) / abs(1 - eta - e^(i omega)) = 4/(2 - eta) K(sqrt(1 - eta) / (1 - eta\\/2))$."
    ),
    hypotheses="$sigma_(d p)^2 = gamma_oo^2 \\/ (2 rho)$ as in Theorem 2.1.",
    checks=(
        Identity(left=_value_at_optimum, right=_printed_minimum, box=UNIT, random_points=30),
        Identity(
            left=lambda m, eta: 2 * m.pi * theory.mean_inverse(m, eta),
            right=_printed_integral,
            box=UNIT,
            impostors={"1e-40 off": {"right": Times("1.0000000000000000000000000000000000000001")}},
        ),
        Agreement(facts=_extra_factor, closed=True),
    ),
    fault=Fault(
        severity="slip",
        touches="proof",
        finding=(
            "Below (19) the least value has a factor $sigma_(d p)^2 = gamma_oo^2 \\/ (2 rho)$ where (18) has $1 \\/ (2 "
            "rho)$: at $eta = {eta}$, $G = 1$, $rho = 1\\/2$ it is ${left}$, printed ${right}$."
        ),
        consequence="Nothing: the rate of Theorem 2.1 is that of the value without the factor.",
    ),
    correction=Correction(
        statement=(
            "The least value is $(eta^2 G^2)/(8 pi^2 rho) (integral (dif omega) / abs(1 - eta - e^(i omega)))^2$ with "
            "$integral (dif omega) / abs(1 - eta - e^(i omega)) = 4/(2 - eta) K(sqrt(1 - eta) / (1 - eta\\/2))$."
        ),
        ground="The two integrals of (18) are equal at $B^star$, and $gamma_oo^2$ is one of them.",
        checks=(
            SCHWARZ,
            DISTANCE_TURNED,
            Identity(
                left=_value_at_optimum,
                right=theory.optimal_part,
                box=UNIT,
                random_points=30,
                impostors={
                    "as printed": {"right": _printed_minimum},
                    "1e-40 off": {"right": Times("1.0000000000000000000000000000000000000001")},
                },
                role="control",
            ),
        ),
        derivation=Derivation(
            text=LEAST
            + (
                "So the least value is $(eta^2 G^2)\\/(2 rho)$ times the squared mean of $1\\/E$, $1\\/(4 pi^2)$ times "
                "the squared integral, which is that of Lemma F.15 (`ftrl/lem-f.15`): $1\\/E dif omega = 2\\/(2 - eta) "
                "dif psi\\/sqrt(1 - k^2 sin^2 psi)$ at $tan(omega\\/2) = eta\\/(2 - eta) tan psi$, $k = sqrt(1 - "
                "eta)\\/(1 - eta\\/2)$ (second check)."
            ),
            lemmas=("independence", "Parseval", "Cauchy-Schwarz", "substitution"),
        ),
    ),
)

# --- last line ---

# The last t that is shown.
LAST = 100


def _decay_ratios(decades: float, *, etas: tuple[float, ...] = (0.01, 0.1, 0.5), exponential: bool = False):
    """|beta*_t| over t^{-3/2} e^{-eta t}, or over t^{-3/2} (1 - eta)^t."""
    t = max(1, round(10.0**decades))
    for eta in etas:
        log_decay = -eta * t if exponential else t * np.log1p(-eta)
        log_beta = np.log(_half_binomial(t)) + t * np.log1p(-eta)
        yield f"eta = {eta}", float(np.exp(log_beta + 1.5 * np.log(t) - log_decay))


def _decay_excess(m, t):
    """t^{-3/2} e^{-eta t} over |beta*_t| = Gamma(t - 1/2) (1 - eta)^t / (2 sqrt(pi) Gamma(t + 1)) at eta = 1/2, with
    the gamma functions that balls have.
    """
    binomial = ((t + 1).lgamma() - (t - m.number("1/2")).lgamma()).exp() * 2 * m.sqrt(m.pi)
    return binomial / (t * m.sqrt(t)) * m.exp(t * (m.log(m.number(2)) - m.number("1/2")))


def _reduced_decay(m, x):
    """Gamma(t + 1) / Gamma(t - 1/2) = t (t - 1/2) Gamma(t) / Gamma(t + 1/2) >= sqrt(t) (t - 1/2), since log Gamma is
    convex; and e^{a t} >= a t, a = log 2 - 1/2.
    """
    return 2 * m.sqrt(m.pi) * (1 - x / 2) * (m.log(m.number(2)) - m.number("1/2"))


def _half_binomial(t: int) -> float:
    """|binom(1/2, t)| = Gamma(t - 1/2) / (2 sqrt(pi) Gamma(t + 1))."""
    from scipy.special import gammaln

    if t > 10**6:  # Gamma(t - 1/2) / Gamma(t + 1) = t^{-3/2} (1 + 3 / (8 t) + O(t^{-2}))
        return float(t**-1.5 * (1 + 3 / (8 * t)) / (2 * np.sqrt(np.pi)))
    return float(np.exp(gammaln(t - 0.5) - gammaln(t + 1)) / (2 * np.sqrt(np.pi)))


def _library_decay(rng: np.random.Generator) -> Iterator[Fact]:
    """The library's weights over t^{-3/2} (1 - eta)^t: 1 / (2 sqrt(pi)) as t grows."""
    for eta in (0.01, 0.1, 0.5):
        weight = -theory.optimal_correlation(eta).coefficients(1001)[-1]
        constant = weight * 1000**1.5 * (1 - eta) ** -1000.0
        yield Fact(f"constant at t = 1000, eta = {eta}", constant, 0.5 / np.sqrt(np.pi) * (1 + 3 / 8000), 1e-5)


B_BETARATE = Claim(
    id="ftrl/b-betarate",
    where="App. B, last line",
    page=17,
    kind="mc-rate",
    statement="$abs(beta^star_t) = Theta(t^(-3\\/2) e^(-eta t))$.",
    checks=(Unbounded(quotient=_decay_excess, reduced=_reduced_decay, shown={"first": 1, "last": LAST}),),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "The last line of Appendix B prints $abs(beta^star_t) = Theta(t^(-3\\/2) e^(-eta t))$; at $eta = 1\\/2$ "
            "this over the weights grows from ${first:2}$ at $t = 1$ to ${last:2}$ at $t = {t}$, without bound, since "
            "$1 - eta < e^(-eta)$."
        ),
        consequence="Nothing: the two agree while $eta^2 t$ stays bounded, and the line is not used.",
    ),
    correction=Correction(
        statement=(
            "For $0 < eta < 1$, $abs(beta^star_t) = Theta(t^(-3\\/2) (1 - eta)^t)$ with constants free of $eta$, and "
            "$abs(beta^star_t) t^(3\\/2) (1 - eta)^(-t) -> 1 \\/ (2 sqrt(pi))$."
        ),
        ground="$abs(binom(1\\/2, t)) tilde.op t^(-3\\/2) \\/ (2 sqrt(pi))$.",
        checks=(
            Rate(
                ratios=_decay_ratios,
                relation="theta",
                extents=(1.0, 2.0, 4.0, 8.0),
                impostors={"e^(-eta t)": {"ratios": {"exponential": True}}},
            ),
            Agreement(facts=_library_decay, impostors={"1 % off": {"facts": Times(1.01)}}),
        ),
    ),
    given={"t": LAST},
)
