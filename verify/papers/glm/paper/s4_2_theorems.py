"""Section 4.2 and Theorem 25: rates for bounded records, and what Assumption 1 asks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dpbounds.glm import LINKS, TwoPointDesign, bias, bounds, privacy
from dpbounds.glm.bounds import Covariance
from verify.checks import Agreement, Fact, Search, Within
from verify.checks.domains import Real
from verify.papers.glm.paper.s4_2_bias import SKEWED, SYMMETRIC, design_of
from verify.statements.claims import Claim, Correction, Fault

FAILURE, DELTA, EPSILON, N = 0.05, 1e-6, 0.5, 10**12


def signs(p: int, size: float) -> TwoPointDesign:
    """x_j = +-size with probability 1/2."""
    return TwoPointDesign(p=p, high=size, low=-size)


def exact_deviation(p: int, share: float, omega: float, *, link: str = "logistic", n: int = N) -> float:
    """Standard deviation of one coordinate of w_hat - w* that the privacy noise causes, to leading order: x_j = +-share
    / p, radius 1, w* = omega in every coordinate, printed noise. P = I - ... moves the scale too, which adds less.
    """
    design, w = signs(p, share / p), np.full(p, omega)
    shown = bias(link, w, design)
    scales = privacy.noise_scales(EPSILON, DELTA, radius=1.0)
    direction = shown.w_ols
    row = float(direction @ direction)  # K_jj
    return abs(shown.root) * math.sqrt(scales.cross**2 + scales.gram**2 * row) / (design.variance * math.sqrt(n))


def stated(p: int, share: float, omega: float) -> bounds.Rate:
    """Theorem 14 at the same point."""
    variance = (share / p) ** 2
    covariance = Covariance(norm=variance, least=variance, root_row_norm=math.sqrt(variance))
    return bounds.general_rate(omega, covariance, p=p, n=N, m=N, epsilon=EPSILON, delta=DELTA, failure=FAILURE)


def _growing(rng: np.random.Generator) -> Iterator[Within]:
    """The exact deviation over the privacy term, in the paper's own design, w* = 1 / sqrt p in every coordinate."""
    ratio = {p: exact_deviation(p, 1.0, p**-0.5) / float(stated(p, 1.0, p**-0.5).privacy) for p in (4, 64)}
    numbers = {"small": ratio[4], "large": ratio[64], "wide": 64}
    yield Within("the ratio at p = 64 over that at p = 4", ratio[64] / ratio[4], 0.0, 2.0, numbers=numbers)


def _repaired(
    p: float,
    share: float,
    omega: float,
    *,
    constant: float = 12.0,
    cross: float = 1.0,
    gram: float = 1.0,
    link: str = "logistic",
) -> tuple[float, float]:
    """The exact deviation against C c sqrt(p) r (1 + r sqrt(p) omega / c) eta', r = 1, <x, w*> up to 2."""
    dimension, omega = round(p), min(omega, 2.0 / share)
    variance = (share / dimension) ** 2
    c = abs(bias(link, np.full(dimension, omega), signs(dimension, share / dimension)).constant)
    level = bounds.noise_level(Covariance(norm=variance, least=variance), EPSILON, DELTA, N, dimension, FAILURE)
    bound = c * math.sqrt(dimension) * (cross + gram * math.sqrt(dimension) * omega / c) * level
    return exact_deviation(dimension, share, omega, link=link), constant * bound


_BOX = {"p": Real(2.0, 64.0, "log"), "share": Real(1e-3, 1.0, "log"), "omega": Real(1e-3, 2.0, "log")}


def _repair(link: str) -> Search:
    return Search(
        sides=partial(_repaired, link=link),
        box={**_BOX, "omega": Real(1e-3, 200.0, "log")},
        evaluations=70,
        impostors={
            "a hundredth of C": {"sides": {"constant": 0.12}},
            "without 1": {"sides": {"cross": 0.0}},
            "without r norm(w*) / c": {"sides": {"gram": 0.0}},
        },
    )


def limit_bias(p: int, share: float, omega: float, skewed: bool, link: str) -> float:
    """The error that no amount of data removes, exactly: ||x||_1 <= share, w* = omega in every coordinate."""
    design = design_of(SKEWED if skewed else SYMMETRIC, p, share)
    return float(np.abs(bias(link, np.full(p, omega), design).limit).max())


def _biased(
    p: float, share: float, omega: float, skewed: float, *, link: str, power: int = 2, constant: float = 0.5
) -> tuple[float, float]:
    """The bias against C omega^2 max{1, omega^2} / sqrt p; less what rounding may leave of a bias of 0."""
    exact = limit_bias(round(p), share, omega, skewed > 0.5, link)
    return max(exact - 1e-11 * omega, 0.0), constant * omega**power * max(1.0, omega**2) / math.sqrt(round(p))


def _bias_term(link: str) -> Search:
    return Search(
        sides=partial(_biased, link=link),
        box={
            "p": Real(2.0, 512.0, "log"),
            "share": Real(1e-3, 1.0, "log"),
            "omega": Real(1e-3, 2.0, "log"),
            "skewed": Real(0.0, 1.0),
        },
        extremal=lambda: (
            {"p": 2.0, "share": 1.0, "omega": 1e-3, "skewed": 1.0},
            {"p": 512.0, "share": 1.0, "omega": 1 / 512, "skewed": 1.0},
            {"p": 2.0, "share": 1.0, "omega": 1.0, "skewed": 0.0},
        ),
        evaluations=200,
        impostors=(
            {"a thousandth of C": {"sides": {"constant": 5e-4}}}
            if link in ("logistic", "sigmoid")
            else {"omega^3": {"sides": {"power": 3}}}
        ),
    )


def _public(
    p: float, share: float, omega: float, *, link: str = "poisson", constant: float = 1.0
) -> tuple[float, float]:
    """What m public records add to the error, times sqrt m, against C omega^2 max{1, omega^2} ||Sigma||^{1/2} p.

    The root c of c mean(mu'(c z)) = 1 moves by c / D times the mean's error, D = E[mu' + c z mu''].
    """
    dimension, slope, curvature = round(p), LINKS[link].slope, LINKS[link].curvature
    design, w = signs(dimension, share / dimension), np.full(dimension, omega)
    shown = bias(link, w, design)
    mean, squared, D = (
        design.mean_of(f, shown.root * shown.w_ols)
        for f in (slope, lambda z: slope(z) ** 2, lambda z: slope(z) + z * curvature(z))
    )
    moved = shown.root * math.sqrt(max(squared - mean**2, 0.0)) / D
    return moved * float(np.abs(shown.w_ols).max()), constant * omega**2 * max(1.0, omega**2) * share


def _public_term(link: str, constant: float) -> Search:
    return Search(
        sides=partial(_public, link=link, constant=constant),
        box=_BOX,
        evaluations=60,
        impostors={"half": {"sides": {"constant": constant / 2}}},
    )


def _definite(p: int, share: float, omega: float, *, squared: bool = False) -> tuple[float, float]:
    """(the n at which 2 sqrt(p n) sigma_1 = n lambda / 2, what Theorem 14 asks for, or Theorem 17)."""
    variance = (share / p) ** 2
    scales = privacy.noise_scales(EPSILON, DELTA, radius=1.0)
    covariance = Covariance(norm=variance, least=variance)
    asked, _ = bounds.general_sample_sizes(
        omega, covariance, p=p, epsilon=EPSILON, delta=DELTA, failure=FAILURE, squared=squared
    )
    return 16 * p * scales.gram**2 / variance**2, float(asked)


def _asked(rng: np.random.Generator, squared: bool = False) -> Iterator[Within]:
    """What a positive definite A takes over what (6), or (8), asks for, in the paper's own design, omega = 1."""
    taken = {p: _definite(p, 1.0, 1.0, squared=squared) for p in (4, 64)}
    ratio = {p: n / asked for p, (n, asked) in taken.items()}
    numbers = {"small": ratio[4], "large": ratio[64], "wide": 64}
    yield Within("the ratio at p = 64 over that at p = 4", ratio[64] / ratio[4], 0.0, 10.0, numbers=numbers)


def _printed_17(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    """The rate of Theorem 17 as it is printed, term by term, at p = 4, omega = 2, kappa = 1."""
    covariance = Covariance(norm=9.0, least=4.0, varrho=1.5)
    rate = bounds.unbounded_rate(
        2.0, covariance, p=4, n=10**6, m=100, epsilon=0.5, delta=DELTA, failure=FAILURE, mu_tilde=0.5
    )
    eta = math.sqrt(math.log(1 / DELTA) * math.log(16 / FAILURE)) / (0.5 * 2.0 * 1e3)
    yield Fact("privacy", factor * float(rate.privacy), 4 * 2.25 * 3.0 * 2.0 * 8.0 * eta, 1e-12)
    yield Fact("public", factor * float(rate.public), 1.5 * 4.0 * 2.0 * math.sqrt(16 * math.log(100) / 100), 1e-12)
    yield Fact("bias", factor * float(rate.bias), 9.0 * 4.0 / 2.0, 1e-12)


def _definite_right(p: float, share: float, omega: float, *, constant: float = 600.0) -> tuple[float, float]:
    """Against C p r^4 log(1 / delta) / (epsilon^2 lambda^2)."""
    dimension = round(p)
    variance = (share / dimension) ** 2
    return _definite(dimension, share, omega)[0], constant * dimension * math.log(1 / DELTA) / (EPSILON * variance) ** 2


_SIZES = Search(sides=_definite_right, box=_BOX, evaluations=300, impostors={"a tenth": {"sides": {"constant": 60.0}}})
THM_14 = Claim(
    id="glm/thm-14",
    where="Theorem 14, (6), (7)",
    kind="mc-rate",
    statement=(
        "If $m >= Omega(norm(Sigma) norm(w^*)_infinity^2 max{1, norm(w^*)_infinity^2} rho_2 rho_infinity^2 p^2)$ and "
        "$n$ as in (6), then $norm(hat(w) - w^*)_infinity <= O(K norm(Sigma)^(1\\/2) p\\/sqrt(m) + K "
        "norm(Sigma)^(1\\/2) p eta' + rho_2 rho_infinity^2 norm(Sigma^(1\\/2))_infinity norm(w^*)_infinity^3 max{1, "
        "norm(w^*)_infinity}\\/sqrt(p))$, $K = rho_2 rho_infinity^2 norm(w^*)_infinity^2 max{1, "
        "norm(w^*)_infinity^2}$."
    ),
    hypotheses="Assumptions 1 and 3; $G, L, tau, M, overline(c), r, kappa, 1\\/c_Phi = O(1)$",
    equation="(7)",
    setting=(
        "$x_j = plus.minus 1\\/p$, $r = 1$: the design of the experiments; leading order in $1\\/n$; logistic link."
    ),
    fault=Fault(
        severity="substantive",
        touches="statement",
        finding=(
            "With $x_j = plus.minus 1\\/p$ one has $norm(Sigma) = 1\\/p^2$, and (7) and (6) lose powers of $p$: the "
            "noise's "
            "share of the error over the second term of (7) grows from ${small:2}$ at $p = 4$ to ${large:2}$ at $p = "
            "{wide}$ "
            "($w^* = bold(1)\\/sqrt(p)$)."
        ),
        consequence=(
            "(7) holds where $norm(Sigma)^(1\\/2) p$ and $norm(w^*)_infinity$ are at least 1, which Assumption 1 with "
            "$r = O(1)$ hardly allows; Corollary 15 and the abstract fall with it."
        ),
        root="glm/eq-33",
    ),
    correction=Correction(
        statement=(
            (
                r"For $n >= Omega(p r^4 log(1\/delta)\/(epsilon^2 lambda^2))$ the second term of (7) is $O(c_Phi "
                r"sqrt(p) r (1 + r norm(w^*)_2\/c_Phi) eta')$;"
            ),
            (
                r"the third, the bias, is $O(norm(w^*)_infinity^2 max{{1, norm(w^*)_infinity^2}}\/sqrt(p))$ with the "
                "constants of Lemma 12, as in (9);"
            ),
            "the first is as printed.",
        ),
        ground="(17) corrected; $norm(E_1) <= n lambda\\/2$; Lemma 12 and (28).",
        checks=(
            _repair("logistic").deciding("a"),
            _SIZES.deciding("a"),
            _bias_term("logistic").deciding("b"),
            _bias_term("poisson").deciding("b"),
            _public_term("logistic", 0.25).deciding("c"),
            _public_term("poisson", 1.0).deciding("c"),
        ),
    ),
    checks=(Agreement(facts=_growing), Agreement(facts=_asked)),
)

THM_17 = Claim(
    id="glm/thm-17",
    where="Theorem 17, (8), (9)",
    kind="mc-rate",
    statement=(
        (
            r"With $m >= tilde(Omega)(epsilon^2 n\/tilde(mu)^2)$ and $n >= Omega(p^2 ...)$, $norm(hat(w) - "
            r"w^*)_infinity <= O(p rho_2 rho_infinity^2 norm(Sigma^(1\/2)) norm(w^*)_infinity max{1, "
            "norm(w^*)_infinity^3} eta + ...)$;"
        ),
        "against Theorem 14 the sample size grows by a factor $O(log m)$.",
    ),
    hypotheses="Assumptions 1 and 4",
    equation="Theorem 17",
    setting="As for Theorem 14.",
    fault=Fault(
        severity="substantive",
        touches="statement",
        finding=(
            "The sample size (8) is that of Theorem 14 but for a logarithm, and too small as it is there: what a "
            "positive definite $A$ takes over it "
            "grows from ${small:2}$ at $p = 4$ to ${large:2}$ at $p = {wide}$ for $x_j = plus.minus 1\\/p$."
        ),
        consequence="As for Theorem 14.",
        root="glm/eq-33",
    ),
    correction=Correction(
        statement=(
            "For $n >= Omega(p r^4 log(1\\/delta)\\/(epsilon^2 lambda^2))$ the privacy term is $O(c_Phi sqrt(p) r (1 "
            "+ r norm(w^*)_2\\/c_Phi) eta)$."
        ),
        ground="As for Theorem 14.",
        checks=(
            _repair("poisson"),
            _SIZES,
            Agreement(facts=_printed_17, impostors={"1 % off": {"facts": {"factor": 1.01}}}),
        ),
    ),
    checks=(Agreement(decides="a", facts=partial(_asked, squared=True)),),
)

THM_25 = Claim(
    id="glm/thm-25",
    where="Theorem 25, (13)-(15)",
    kind="mc-rate",
    statement=(
        "$m$ as in (6), $n >= Omega(rho_2 rho_infinity^2 norm(Sigma)^2 p^2 norm(w^*)_infinity^2 max{1, "
        "norm(w^*)_infinity^2} log(1\\/delta) log(p\\/xi)\\/(epsilon^2 lambda))$: $norm(hat(w) - w^*)_infinity$ has "
        "the bound (7) with $c_f$."
    ),
    hypotheses="Assumptions 1 and 6",
    equation="(14)",
    setting="As for Theorem 14, sigmoid link.",
    fault=Fault(
        severity="substantive",
        touches="statement",
        finding=(
            "As Theorem 14: the noise's share of the error over its bound grows from ${small:2}$ at $p = 4$ to "
            "${large:2}$ at $p = {wide}$; (14) moreover drops $min{{lambda, 1}}$ from (6)."
        ),
        consequence="As for Theorem 14.",
        root="glm/eq-33",
    ),
    correction=Correction(
        statement=(
            "As Theorem 14 corrected, in its second and third term, with $c_f$ and the noise for labels up to $L r + "
            "abs(f(0)) + C$."
        ),
        ground="As for Theorem 14.",
        checks=(_repair("sigmoid"), _SIZES, _bias_term("sigmoid"), _bias_term("softplus")),
    ),
    checks=(Agreement(facts=_growing),),
)

# --- Assumption 1 and what it costs ---


def conditional_moments(law: list[tuple[np.ndarray, float]], w: np.ndarray, j: int) -> dict[float, tuple[float, float]]:
    """E[v_j | rest] and E[v_j^2 | rest] for every value of the rest, sum_{k != j} w_k v_k."""
    groups: dict[float, list[tuple[float, float]]] = {}
    for x, chance in law:
        rest = round(float(np.delete(x * w, j).sum()), 12)
        groups.setdefault(rest, []).append((float(x[j]), chance))
    return {
        rest: tuple(sum(c * v**k for v, c in items) / sum(c for _, c in items) for k in (1, 2))
        for rest, items in groups.items()
    }  # type: ignore[return-value]


def _predicate(rng: np.random.Generator, *, scale: float = 1.0) -> Iterator[Fact | Within]:
    """Products meet (iii); signed axes do not; (ii) bounds the trace and so the least eigenvalue."""
    p, w = 3, np.array([0.5, -0.3, 0.8])
    product = [(np.array(x), 1 / 8) for x in itertools.product([1.0, -1.0], repeat=p)]
    axes = [(s * math.sqrt(p) * np.eye(p)[k], 1 / (2 * p)) for k in range(p) for s in (1.0, -1.0)]
    for name, law, ends in (("product of signs", product, (0.0, 1e-9)), ("signed axes", axes, (0.1, math.inf))):
        spreads = [np.ptp(list(conditional_moments(law, w, j).values()), axis=0).max() for j in range(p)]
        yield Within(f"{name}: spread of the conditional moments", float(max(spreads)), *ends)
    for p in (4, 16, 64):
        design = signs(p, 1.0 / p)
        yield Within(f"p = {p}: Tr Sigma over r^2", scale * p * design.variance, 0.0, 1.0)
        yield Fact(f"p = {p}: lambda = 1 / p^2", scale * design.variance, p**-2.0)


ASSUMP_1 = Claim(
    id="glm/assump-1",
    where="Assumption 1, footnote 1",
    kind="inequality",
    statement=(
        r"(i) $Sigma^(1\/2)$ diagonally dominant, (ii) $norm(x)_1 <= r$, (iii) $bb(E)[v_j | sum_(k != j) tilde(w)_k "
        "v_k]$ and $bb(E)[v_j^2 | ...]$ are deterministic."
    ),
    equation="Assumption 1",
    setting="By enumeration: products of signs, signed axes.",
    remark=(
        '(ii) gives $op("Tr") Sigma <= r^2$, so $lambda <= r^2\\/p$, and $lambda <= r^2\\/p^2$ for independent '
        "coordinates: it is never of order 1."
    ),
    checks=(Agreement(facts=_predicate, impostors={"5 times": {"facts": {"scale": 5.0}}}),),
)
