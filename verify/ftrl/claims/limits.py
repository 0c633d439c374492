"""Sections 1.2 and 1.3: what stays finite as T -> infinity, the objective (3) against the loss, the separation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.signal import lfilter

from dpbounds.ftrl import correlations, linear_regression
from verify.checks import Agreement, Fact, Rate
from verify.claims import Claim, Correction
from verify.ftrl.claims import moments

ETA, RHO = 0.5, 0.5


def _growing_sensitivity() -> dict[str, correlations.ToeplitzCorrelation]:
    return {"beta = (1, -1)": correlations.anti_pgd(), "nu = 0": correlations.optimal_counting()}


def _finite_sensitivity() -> dict[str, correlations.ToeplitzCorrelation]:
    return {
        "independent": correlations.independent(),
        "nu = 0.01": correlations.nu(0.01),
        "beta = (1, -0.95)": correlations.damped_anti_pgd(0.05),
        "beta = (1, 0.6, 0.5)": correlations.from_coefficients([1.0, 0.6, 0.5]),
    }


def _horizon(decades: float) -> int:
    return round(10.0**decades)


def _errors(decades: float, chosen: dict[str, correlations.ToeplitzCorrelation]) -> Iterator[tuple[str, float]]:
    """E delta_T^2 in mean estimation without residuals, noise for gamma_T: eta^2 gamma_T^2 / (2 rho) sum_k m_k^2, m_k =
    (1 - eta) m_{k-1} + beta_k the weight of a draw k steps old.
    """
    T = _horizon(decades)
    for label, correlation in chosen.items():
        weights = np.asarray(lfilter([1.0], [1.0, ETA - 1.0], correlation.coefficients(T)))
        gamma_squared = np.sum(correlation.inverse_coefficients(T) ** 2)
        yield label, float(ETA**2 * gamma_squared / (2 * RHO) * np.sum(weights**2))


def _limits(rng: np.random.Generator, *, counting: bool = False) -> Iterator[Fact]:
    """E delta_T^2 at T = 10^4 against its closed limit; second moments of regression at T = 3000 against the
    stationary ones.
    """
    chosen = _finite_sensitivity() | ({"nu = 1e-5": correlations.nu(1e-5)} if counting else {})
    for label, value in _errors(4.0, chosen):
        stated = ETA / (2 - ETA) * chosen[label].limiting_sensitivity() ** 2 / (2 * RHO)
        yield Fact(f"mean estimation, {label}", value, stated * chosen[label].filtered_power(np.array([ETA]))[0], 1e-9)
    law, beta = moments.skewed([1.0, 0.2]), [1.0, 0.6, 0.5]
    noise = correlations.from_coefficients(beta).limiting_sensitivity() ** 2 / (2 * RHO)
    finite = moments.trajectory(law, 0.1, beta, noise, 0.3, 3000)[-1]
    yield Fact("regression, beta = (1, 0.6, 0.5)", finite, moments.stationary(law, 0.1, beta, noise, 0.3), 1e-9)


def _sensitivities(decades: float, chosen: dict[str, correlations.ToeplitzCorrelation]) -> Iterator[tuple[str, float]]:
    """sigma_dp^2 for rho = 1/2, that is gamma_T^2."""
    T = _horizon(decades)
    for label, correlation in chosen.items():
        yield label, float(np.sum(correlation.inverse_coefficients(T) ** 2))


def _all_sensitivities(decades: float) -> Iterator[tuple[str, float]]:
    yield from _sensitivities(decades, _growing_sensitivity() | _finite_sensitivity())
    yield "tree aggregation", float(_horizon(decades).bit_length())


def _growth(rng: np.random.Generator, constant: float = np.euler_gamma + 4 * np.log(2)) -> Iterator[Fact]:
    """gamma_T^2: T for anti-PGD, Landau's (log T + gamma + 4 log 2) / pi + O(1 / T) for nu = 0, 1 + floor(log2 T) for
    trees.
    """
    for T in (10**3, 10**6):
        anti_pgd, counting = (value for _, value in _sensitivities(np.log10(T), _growing_sensitivity()))
        yield Fact(f"gamma_T^2 of anti-PGD, T = {T}", anti_pgd, float(T), 1e-12)
        yield Fact(f"gamma_T^2 of nu = 0, T = {T}", counting, (np.log(T) + constant) / np.pi, 1 / T)
    for T in (1, 5, 16, 40):
        gamma = correlations.tree_aggregation(T).sensitivity(T)
        yield Fact(f"gamma_T^2 of a tree, T = {T}", gamma**2, 1 + np.floor(np.log2(T)), 1e-12)


def _limiting_sensitivities(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    chosen = _finite_sensitivity()
    for label, gamma_squared in _sensitivities(4.0, chosen):
        limit = factor * float(chosen[label].limiting_sensitivity()) ** 2
        yield Fact(f"sigma_dp^2 at T = 10^4, {label}", gamma_squared, limit, 1e-9)


# --- Section 1.2: equal error, equal sensitivity ---


def _last_and_first(T: int) -> tuple[np.ndarray, np.ndarray]:
    """Squared diagonals of B_1 = diag(1, ..., 1, sqrt T) and B_2 = diag(sqrt(2 - 1 / T), 1, ..., 1)."""
    last, first = np.ones(T), np.ones(T)
    last[-1], first[0] = T, 2 - 1 / T
    return last, first


def _same_objective(rng: np.random.Generator, excess: float = 0.0) -> Iterator[Fact]:
    for T in (2, 5, 50):
        B1, B2 = (np.diag(np.sqrt(diagonal)) for diagonal in _last_and_first(T))
        B1[-1, -1] += excess
        errors = [np.sum((np.tri(T) @ B) ** 2) for B in (B1, B2)]
        gammas = [np.linalg.norm(np.linalg.inv(B), axis=0).max() for B in (B1, B2)]
        yield Fact(f"phi(B_1) and phi(B_2), T = {T}", errors[0], errors[1], 1e-12)
        yield Fact(f"gamma_T(B_1) and gamma_T(B_2), T = {T}", gammas[0], gammas[1], 1e-12)


def _other_objective(decades: float, growth: float = 1.0) -> Iterator[tuple[str, float]]:
    """E delta_T^2 of mean estimation, rho = 1/2, no residuals: T^growth is the claimed order for B_1, a constant for
    B_2.
    """
    T = _horizon(decades) + 1
    for label, diagonal, order in zip(("B_1", "B_2"), _last_and_first(T), (T**growth, 1.0), strict=True):
        forgetting = (1 - ETA) ** (2.0 * np.arange(T - 1, -1, -1))
        yield label, float(ETA**2 * np.sum(forgetting * diagonal) / order)


def _same_trajectory(rng: np.random.Generator) -> Iterator[Fact]:
    """The same numbers from the second moments of a run (inputs +-1 turn regression into mean estimation)."""
    T = 11
    for label, value in _other_objective(1.0, growth=0.0):
        diagonal = _last_and_first(T)[0 if label == "B_1" else 1]
        B = correlations.from_matrix(np.diag(np.sqrt(diagonal)))
        run = linear_regression.trajectory(B, np.ones(1), ETA, RHO, steps=T, kurtosis=1.0)
        yield Fact(f"E delta_T^2 with {label}, T = 11", 2 * run[-1], value, 1e-12)


# --- Section 1.3: the separation ---


def _separation(
    decades: float, logs: float, exponents: Iterable[float] = (1.5, 2.0, 3.0)
) -> Iterator[tuple[str, float]]:
    """Exact F_oo of Noisy-SGD over nu-Noisy-FTRL (nu = eta mu, eta Tr H = 1/4) over d / log^logs d, spectrum (1,
    d^-s, ..., d^-s).

    The factor 1 / (1 - feedback) of the exact error is common: left are sums over two distinct eigenvalues.
    """
    d = 10.0 ** (decades + 2) + 1
    for s in exponents:
        eigenvalues, counts = np.array([1.0, d**-s]), np.array([1.0, d - 1])
        eta = 0.25 / (counts @ eigenvalues)
        x = eta * eigenvalues
        correlation = correlations.nu(x[1])
        power = correlation.limiting_sensitivity() ** 2 * correlation.filtered_power(x)
        ratio = np.sum(counts / (1 - x)) / np.sum(counts * power / (1 - x))
        yield f"s = {s:g}", float(ratio / (d / np.log(d) ** logs))


def _separation_in_full(rng: np.random.Generator) -> Iterator[Fact]:
    """The same ratio from the exact error of all d eigenvalues; and d_eff."""
    d = 1001  # 10^3 + 1: one decade from the centre of the sweep
    spectrum = np.concatenate([[1.0], np.full(d - 1, float(d) ** -2)])
    eta = 0.25 / spectrum.sum()
    sgd = linear_regression.suboptimality(correlations.independent(), spectrum, eta, RHO)
    ftrl = linear_regression.suboptimality(correlations.nu(eta * spectrum[-1]), spectrum, eta, RHO)
    (_, stated), *_ = _separation(1.0, 0.0, (2.0,))
    yield Fact("ratio at d = 1001, s = 2", sgd / ftrl / d, stated, 1e-9)
    yield Fact("effective dimension", linear_regression.effective_dimension(spectrum), 1.0, 2e-3)


CLAIMS = (
    Claim(
        id="ftrl/sec1.2-wellposed",
        where="Section 1.2, below (4)",
        kind="number",
        statement=(
            "$F_oo (beta) = lim_T EE[F(theta_T) - F^star]$ is finite in the settings considered if $norm(beta)_2 < oo$."
        ),
        hypotheses="Mean estimation with $eta = rho = 1\\/2$, noise multiplier $gamma_T \\/ sqrt(2 rho)$.",
        checks=(
            Rate(
                ratios=lambda decades: _errors(decades, _growing_sensitivity() | _finite_sensitivity()),
                relation="upper",
                extents=(0.75, 1.5, 3.0, 6.0),
            ),
        ),
        correction=Correction(
            statement=(
                "if also $gamma_oo (beta) < oo$ (and $eta$ is stable): $beta = (1, -1)$ and $nu = 0$ are square "
                "summable and have $F_oo = oo$, as Table 2 says."
            ),
            checks=(
                Rate(
                    ratios=lambda decades: _errors(decades, _finite_sensitivity()),
                    relation="upper",
                    extents=(0.75, 1.5, 3.0, 6.0),
                    impostors={"nu = 0 too": {"ratios": lambda decades: _errors(decades, _growing_sensitivity())}},
                ),
                Agreement(
                    facts=_limits,
                    impostors={
                        "a limit not yet reached": {"facts": lambda rng: _limits(rng, counting=True)},
                    },
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/sec1.2-phi-mismatch",
        where="Section 1.2",
        kind="number",
        statement=(
            "There are $B_1, B_2$ with $phi(B_1) = phi(B_2)$ and $gamma_T (B_1) = gamma_T (B_2)$ such that DP-FTRL "
            "diverges with $B_1$ and converges with $B_2$."
        ),
        hypotheses=(
            'Read as one pair for every $T$, $EE[F(theta_T)]$ unbounded as $T$ grows or not: $B_1 = "diag"(1, ..., 1, '
            'sqrt(T))$ and $B_2 = "diag"(sqrt(2 - 1\\/T), 1, ..., 1)$ in mean estimation. With one fixed $T$ nothing '
            "diverges."
        ),
        checks=(
            Agreement(
                facts=_same_objective,
                impostors={"B_1 a little larger": {"facts": lambda rng: _same_objective(rng, 1e-6)}},
            ),
            Rate(
                ratios=_other_objective,
                relation="theta",
                extents=(0.75, 1.5, 3.0, 6.0),
                impostors={"B_1 bounded too": {"ratios": lambda decades: _other_objective(decades, growth=0.0)}},
            ),
            Agreement(facts=_same_trajectory),
        ),
    ),
    Claim(
        id="ftrl/fn-3",
        where="footnote 3",
        kind="number",
        statement="$sigma_(d p)$ stays finite as $T -> oo$ in the streaming setting.",
        hypotheses="$sigma_(d p)^2 = gamma_T^2 \\/ (2 rho)$, $rho = 1\\/2$, the correlations of Tables 2 and 3.",
        checks=(Rate(ratios=_all_sensitivities, relation="upper", extents=(0.75, 1.5, 3.0, 6.0)),),
        correction=Correction(
            statement=(
                "for correlations with $gamma_oo < oo$: independent noise, $nu > 0$, damped anti-PGD. For $nu = 0$ and "
                "trees $sigma_(d p)^2$ grows as $log T$, for anti-PGD as $T$."
            ),
            checks=(
                Rate(
                    ratios=lambda decades: _sensitivities(decades, _finite_sensitivity()),
                    relation="upper",
                    extents=(0.75, 1.5, 3.0, 6.0),
                    impostors={"anti-PGD": {"ratios": _all_sensitivities}},
                ),
                Agreement(facts=_growth, impostors={"no constant": {"facts": lambda rng: _growth(rng, 0.0)}}),
                Agreement(
                    facts=_limiting_sensitivities,
                    impostors={"5 % off": {"facts": lambda rng: _limiting_sensitivities(rng, 1.05)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/sec1.3-sep",
        where="Section 1.3 (b)",
        kind="mc-rate",
        statement=(
            "$nu$-Noisy-FTRL is better than Noisy-SGD by a factor that can be as large as $d \\/ log d$ when "
            '$d_"eff"$ is constant.'
        ),
        hypotheses=(
            'Exact $F_oo$, $eta op("Tr") H = 1\\/4$, $nu = eta mu$, eigenvalues $(1, d^(-s), ..., d^(-s))$ with $s > '
            "1$. The bounds of Theorem 2.2 alone, and the spectrum $s = 1$ of Section 2.2, give $d \\/ log^2 d$."
        ),
        checks=(
            Rate(
                ratios=lambda decades: _separation(decades, 1.0),
                relation="theta",
                extents=(2.0, 4.0, 8.0, 16.0),
                impostors={
                    "d without the logarithm": {"ratios": lambda decades: _separation(decades, 0.0)},
                    "s = 1": {"ratios": lambda decades: _separation(decades, 1.0, (1.0,))},
                },
            ),
            Agreement(facts=_separation_in_full),
        ),
    ),
)
