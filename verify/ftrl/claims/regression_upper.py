"""Appendix C.2, parts 3 and 4: stationary covariances of the systems and the upper bound on the stationary error."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import sympy

from dpbounds.arithmetic import FLOATS
from dpbounds.quadrature import circle_nodes
from verify.checks import Agreement, Fact, Identity, Rate, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole
from verify.ftrl.claims import moments
from verify.ftrl.claims.law_batches import Sides, Systems, attacks, largest_eigenvalue, one

EIGENVALUES = (1.0, 0.4, 0.1)
SIGMA_W = "$sigma_w^2 = G^2 gamma_oo^2 \\/ (2 rho)$"


# --- the stationary covariances ---


def _base(system: Systems) -> Sides:
    """Proposition C.10: diagonal on both sides."""
    level = next(system.levels())
    bound = system.residual[:, None] + system.noise[:, None] * system.powers() / system.laws.eigenvalues
    ratio = np.einsum("njj->nj", level) / (system.eta[:, None] * bound)
    return ratio.max(axis=1), np.ones(len(ratio))


def _total(system: Systems) -> np.ndarray:
    """sigma_s^2 + C_kurt sigma_w^2 <beta, T beta> / R^2."""
    power = system.powers().sum(axis=1)
    return system.residual + system.laws.kurtosis_constant() * system.noise * power / system.laws.r_squared()


def _at_level(system: Systems, level: np.ndarray) -> np.ndarray:
    """S^(level)."""
    every = np.array(list(islice(system.levels(), int(level.max()) + 1)))
    return every[level, np.arange(len(level))]


def _higher(system: Systems, level: np.ndarray) -> Sides:
    """Proposition C.11."""
    bound = system.eta * (system.eta * system.laws.r_squared()) ** level * _total(system)
    return largest_eigenvalue(_at_level(system, level)), bound


def _remainder(system: Systems, level: np.ndarray) -> Sides:
    """The last line of the proof of Proposition C.13."""
    product = system.eta * system.laws.r_squared()
    bound = system.eta / (1.0 - product) * product ** (level + 1) * _total(system)
    return largest_eigenvalue(system.remainder(_at_level(system, level))), bound


def _hypothesis(system: Systems) -> tuple[np.ndarray, np.ndarray]:
    """a I + c H^{-1/2} P_beta H^{-1/2} with a, c = the two variances, and a R^2 + c C_kurt <beta, T beta>."""
    diagonal = system.residual[:, None] + system.noise[:, None] * system.powers() / system.laws.eigenvalues
    return diagonal[..., None] * np.eye(diagonal.shape[1]), system.laws.r_squared() * _total(system)


def _white_noise(system: Systems) -> Sides:
    """Lemma C.12 (a): the covariance grows with that of theta^(r-1), so the hypothesis with equality is the worst."""
    before, factor = _hypothesis(system)
    covariance = system.laws.second_fluctuation(before)
    root = np.sqrt(system.laws.eigenvalues)
    return largest_eigenvalue(covariance / (root[:, :, None] * root[:, None, :])), factor


def _next_level(system: Systems) -> Sides:
    """Lemma C.12 (b), from the same worst case."""
    before, factor = _hypothesis(system)
    x = system.x
    decay = x[:, :, None] + x[:, None, :] - x[:, :, None] * x[:, None, :]
    after = system.eta[:, None, None] ** 2 * system.laws.second_fluctuation(before) / decay
    return largest_eigenvalue(after), system.eta * factor


def _histories(rng: np.random.Generator, centre: float = 1.0) -> Iterator[Fact]:
    """Means over all 24^3 histories of three steps: x in {e_1, e_2, -e_1 - e_2}, signs xi, w in {+-e_1, +-e_2}."""
    inputs = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    draws = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    eta, beta, H = 0.3, (1.0, -0.6, 0.4), inputs.T @ inputs / 3
    choices = np.indices((3, 2, 4) * 3).reshape(9, -1)
    x = [inputs[choices[3 * t]] for t in range(3)]
    w = [draws[choices[3 * t + 2]] for t in range(3)]
    parts, zeta = np.zeros((2, len(w[0]), 2)), []
    for t in range(3):
        zeta.append([centre * part @ H - x[t] * np.sum(x[t] * part, axis=1)[:, None] for part in parts])
        noise = sum(b * w[t - k] for k, b in enumerate(beta[: t + 1]))
        fresh = (2.0 * choices[3 * t + 1] - 1.0)[:, None] * x[t] - noise
        parts = parts - eta * parts @ H + eta * np.stack([fresh, zeta[t][0]])
    for r in (1, 2):
        for t, s in ((1, 0), (2, 0), (2, 1)):
            cross = zeta[t][r - 1].T @ zeta[s][r - 1] / len(x[0])
            yield Fact(f"E zeta^({r})_{t} zeta^({r})_{s}", np.abs(cross).max(), 0.0, 1e-12)
        yield Fact(f"E zeta^({r})_2", np.abs(zeta[2][r - 1].mean(axis=0)).max(), 0.0, 1e-12)


def _blocks(rng: np.random.Generator) -> Iterator[Fact]:
    """The joint second moments of all sequences, past draws included: the sequences are uncorrelated, add up to theta',
    and have the second moments of the recursion that the searches use.
    """
    for law in moments.examples(EIGENVALUES):
        eta, beta = 0.6 / law.r_squared(), (1.0, -0.7, 0.2)
        joint = moments.decomposition(law, eta, beta, 0.3, 0.5, 2)
        system = Systems(one(law), *(np.array([value]) for value in (eta, beta, 0.3, 0.5)))
        levels = list(islice(system.levels(), 3))
        recursion = np.concatenate([*levels, system.remainder(levels[-1])])
        yield Fact(f"diagonal blocks, {law.name}", np.einsum("rrij->rij", joint), recursion, 1e-11)
        off_diagonal = joint * (1 - np.eye(4))[:, :, None, None]
        yield Fact(f"other blocks, {law.name}", np.abs(off_diagonal).max(), 0.0, 1e-11)
        whole = moments.stationary(law, eta, beta, 0.3, 0.5)
        yield Fact(f"sum of all blocks, {law.name}", joint.sum(axis=(0, 1)), whole, 1e-11)


# --- Theorems C.14 and C.15 ---


def _printed_factors(system: Systems) -> tuple[np.ndarray, np.ndarray]:
    """(1 + k0) eta R^2 sigma_s^2 and 1 + C_kurt k0, k0 = (1 - sqrt(eta R^2))^{-2}."""
    product = system.eta * system.laws.r_squared()
    k0 = (1.0 - np.sqrt(product)) ** -2.0
    return (1.0 + k0) * product * system.residual, 1.0 + system.laws.kurtosis_constant() * k0


def _time_domain(system: Systems) -> Sides:
    """Twice F with 1/2 on the left."""
    data, factor = _printed_factors(system)
    bound = data + factor * system.eta * system.noise * system.powers().sum(axis=1)
    return system.doubled_suboptimality(), bound


def _frequency_domain(system: Systems) -> Sides:
    """The same with int |B|^2 h by quadrature."""
    data, factor = _printed_factors(system)
    omega, weights = circle_nodes(0.5)
    phases = np.exp(1j * np.outer(np.arange(system.beta.shape[1]), omega))
    x = system.x[..., None]
    h = np.sum(system.laws.eigenvalues[..., None] / (x**2 + 4.0 * (1.0 - x) * np.sin(omega / 2) ** 2), axis=1)
    integral = (np.abs(system.beta @ phases) ** 2 * h) @ weights
    return system.doubled_suboptimality(), data + factor * system.eta**2 * system.noise / np.pi * integral


def _series() -> Iterator[tuple[str, sympy.Expr]]:
    """Printed coefficients less those that the proof's series gives for F with 1/2, and less those of the trace of the
    stationary recursion for F without: sqrt(eta R^2) = v = s / (1 + s), k0 = (1 + s)^2, C_kurt = 1 + c, R^2 = Tr H + r.
    """
    s, c, r, trace = sympy.symbols("s c r trace", positive=True)
    v, k0, C = s / (1 + s), (1 + s) ** 2, 1 + c
    # sum_{r>=1} v^{r+1} = v^2 / (1 - v); ||x + y||^2 <= 2 ||x||^2 + 2 ||y||^2 and the 1/2 of F cancel.
    tail = (v**2 / (1 - v)) ** 2
    yield "data, F with 1/2", (1 + k0) * v**2 - (v**2 + tail)
    yield "noise, F with 1/2", 1 + C * k0 - (1 + C * tail / v**2)
    yield "data, F without 1/2", (1 + k0) * (trace + r) - trace / (2 - v**2)
    yield "noise, F without 1/2", 1 + C * k0 - 1 / (2 - v**2)


def _trace_identity(rng: np.random.Generator) -> Iterator[Fact]:
    """2 Tr[H S] - eta Tr[E ||x||^2 x x^T S] = eta (sigma_s^2 Tr H + sigma_w^2 <beta, T beta>)."""
    for law in moments.examples(EIGENVALUES):
        eta, beta = 0.6 / law.r_squared(), (1.0, -0.7, 0.2)
        S = moments.stationary(law, eta, beta, 0.3, 0.5)
        left = 2 * np.trace(law.covariance @ S) - eta * np.einsum("ijkk,ji->", law.fourth, S)
        system = Systems(one(law), *(np.array([value]) for value in (eta, beta, 0.3, 0.5)))
        right = eta * (0.5 * np.trace(law.covariance) + 0.3 * system.powers().sum())
        yield Fact(f"trace of the stationary recursion, {law.name}", left, right, 1e-12)


def _gap_of_h(percent: int = 100) -> Iterator[tuple[str, sympy.Expr]]:
    """Tr[H^{-1}] / eta^2 - h(omega), d = 2: eta lambda_j = 1 / (1 + t_j) and cos omega = (1 - r^2) / (1 + r^2)."""
    t, r, eta = (
        sympy.symbols("t0:2", positive=True),
        sympy.Symbol("r", positive=True),
        sympy.Symbol("eta", positive=True),
    )
    cosine, total = (1 - r**2) / (1 + r**2), sympy.Integer(0)
    for rate in t:
        x = 1 / (1 + rate)
        distance = 1 + (1 - x) ** 2 - 2 * (1 - x) * cosine
        total += sympy.Integer(percent) / (100 * eta * x) - x / (eta * distance)
    yield "Tr[H^-1] / eta^2 - h", total


# --- Remark C.16 ---


def _contribution(m, eta, rate):
    """Err_j for white noise by quadrature."""
    x = eta * rate
    return m.integral(lambda s: rate / (x**2 + 4 * (1 - x) * s))


def _contribution_ratios(decades: float, power: int) -> Iterator[tuple[str, float]]:
    """Err_j times eta^power towards small eta and towards small lambda_j."""
    for label, eta, rate in (("eta -> 0", 0.5 * 10.0**-decades, 1.0), ("lambda_j -> 0", 0.5, 10.0**-decades)):
        yield label, float(_contribution(FLOATS, eta, rate)) * eta**power


SMALL_TO_ONE = {"eta": Real(1e-9, 0.999, "logit"), "rate": Real(1e-9, 1.0, "log")}

CLAIMS = (
    Claim(
        id="ftrl/prop-c.10",
        where="App. C, Proposition C.10",
        kind="inequality",
        statement=(
            "$EE theta^((0))_t theta^((0) top)_t$ is the same for all $t$ and $prec.eq eta sigma_s^2 I + eta sigma_w^2 "
            "H^(-1\\/2) P_beta H^(-1\\/2)$."
        ),
        hypotheses="Assumption C.2, $0 < eta < 1\\/R^2$, " + SIGMA_W + ".",
        checks=attacks(_base, 1.03),
    ),
    Claim(
        id="ftrl/prop-c.11",
        where="App. C, Proposition C.11",
        kind="inequality",
        statement=(
            '$EE theta^((r))_0 theta^((r) top)_0 prec.eq eta (eta R^2)^r (sigma_s^2 + C_"kurt" sigma_w^2 chevron.l '
            "beta, T beta chevron.r \\/ R^2) I$ for $r >= 1$."
        ),
        hypotheses="As Proposition C.10; the right side, printed without a matrix, is read as a multiple of $I$.",
        checks=(*attacks(_higher, 2.2, levels=Whole(1, 12)), Agreement(facts=_blocks)),
    ),
    Claim(
        id="ftrl/lem-c.12a",
        where="App. C, Lemma C.12 (a)",
        kind="inequality",
        statement=(
            "If $EE theta^((r-1))_t theta^((r-1) top)_t prec.eq a I + b H^(-1\\/2) P_beta H^(-1\\/2)$, then "
            '$zeta^((r))_t = (H - x_t x_t^top) theta^((r-1))_t$ is white with covariance $prec.eq (a R^2 + b C_"kurt" '
            "chevron.l beta, T beta chevron.r) H$."
        ),
        hypotheses="As Proposition C.10.",
        checks=(
            *attacks(_white_noise, 1.02),
            Agreement(facts=_histories, impostors={"- x x^T without H": {"facts": lambda rng: _histories(rng, 0.0)}}),
        ),
    ),
    Claim(
        id="ftrl/lem-c.12b",
        where="App. C, Lemma C.12 (b)",
        kind="inequality",
        statement=(
            'Then $EE theta^((r))_t theta^((r) top)_t$ is the same for all $t$ and $prec.eq eta (a R^2 + b C_"kurt" '
            "chevron.l beta, T beta chevron.r) I$."
        ),
        hypotheses="As Lemma C.12 (a).",
        checks=attacks(_next_level, 1.4),
    ),
    Claim(
        id="ftrl/prop-c.13",
        where="App. C, Proposition C.13",
        kind="inequality",
        statement=(
            "$0 prec.eq EE delta^((m))_t delta^((m) top)_t prec.eq eta/(1 - eta R^2) (eta R^2)^(m+1) (sigma_s^2 + "
            'C_"kurt" sigma_w^2 chevron.l beta, T beta chevron.r \\/ R^2) I -> 0$ as $m -> oo$.'
        ),
        hypotheses="As Proposition C.10.",
        checks=(*attacks(_remainder, 4.1, levels=Whole(0, 12)), Agreement(facts=_blocks)),
    ),
    Claim(
        id="ftrl/thm-c.14",
        where="Theorem C.14",
        kind="inequality",
        statement=(
            '$F_oo <= (1 + kappa_0) eta R^2 sigma_s^2 + (1 + C_"kurt" kappa_0) eta sigma_w^2 chevron.l beta, T beta '
            "chevron.r$ with $kappa_0 = (1 - sqrt(eta R^2))^(-2)$."
        ),
        hypotheses=(
            "Assumption C.2, $beta in ell^2$, $0 < eta < 1\\/R^2$, " + SIGMA_W + ". Checked for $F$ of (22), twice the "
            "$1\\/2 norm(theta - theta^star)_H^2$ of the proof, so for both."
        ),
        checks=(
            *attacks(_time_domain, 4.1),
            Symbolic(nonnegative=_series),
            Agreement(facts=_trace_identity),
        ),
    ),
    Claim(
        id="ftrl/thm-c.15",
        where="Theorem C.15",
        kind="inequality",
        statement=(
            '$F_oo <= (1 + kappa_0) eta R^2 sigma_s^2 + (1 + C_"kurt" kappa_0) (eta^2 sigma_w^2)/pi integral '
            "abs(B(omega))^2 h(omega) dif omega$."
        ),
        hypotheses="As Theorem C.14, for both $F$.",
        checks=attacks(_frequency_domain, 4.1),
    ),
    Claim(
        id="ftrl/thm-c.15-wd",
        where="App. C, proof of Theorem C.15",
        kind="inequality",
        statement='$h(omega) <= op("Tr")[H^(-1)] \\/ eta^2$.',
        hypotheses="$0 < eta lambda_j < 1$.",
        checks=(
            Symbolic(
                nonnegative=_gap_of_h,
                impostors={
                    "99 %": {"nonnegative": lambda: _gap_of_h(99)},
                },
            ),
        ),
    ),
    Claim(
        id="ftrl/rem-c.16",
        where="App. C, Remark C.16, (44)",
        kind="mc-rate",
        statement=(
            'For Noisy-SGD $"Err"_j = integral lambda_j \\/ abs(1 - e^(i omega) - eta lambda_j)^2 dif omega = '
            "Theta(1)$, an absolute constant."
        ),
        hypotheses="$0 < eta lambda_j < 1$; absolute: neither $lambda_j$ nor $eta$ enters.",
        checks=(Rate(ratios=lambda decades: _contribution_ratios(decades, 0), relation="theta"),),
        correction=Correction(
            statement=(
                '$"Err"_j = Theta(1\\/eta)$ uniformly in $lambda_j$: $"Err"_j = 2 pi \\/ (eta (2 - eta lambda_j))$, '
                "between $pi\\/eta$ and $2 pi\\/eta$."
            ),
            checks=(
                Identity(
                    left=_contribution,
                    right=lambda m, eta, rate: 2 * m.pi / (eta * (2 - eta * rate)),
                    box=SMALL_TO_ONE,
                    random_points=15,
                    impostors={
                        "1 % more": {"right": lambda m, eta, rate: m.number("2.02") * m.pi / (eta * (2 - eta * rate))}
                    },
                ),
                Rate(
                    ratios=lambda decades: _contribution_ratios(decades, 1),
                    relation="theta",
                    impostors={"eta^2 Err": {"ratios": lambda decades: _contribution_ratios(decades, 2)}},
                ),
            ),
        ),
    ),
)
