"""Lemmas D.4 and D.5: the noise of the first stage, and theta-hat."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from scipy.special import chdtrc

from dpbounds.gaussian_norm import norm_cdf
from dpbounds.iv import Constants, Design, Moments, lemmas, spectrum, theta_covariance
from simulators.iv import LinearModel
from verify.checks import Agreement, Event, Fact, Frequency, Search, Symbolic, Times, Unbounded
from verify.checks.domains import Real, Whole
from verify.papers.iv.tools import rationals, reference, tails
from verify.papers.iv.tools.rationals import TwoStage
from verify.papers.iv.tools.samples import (
    GAUSSIAN,
    Occurs,
    isotropic_design,
    isotropic_model,
    likely_events,
)
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]


# --- Lemma D.4 ---


def _covariances(rng: np.random.Generator, older: int = 0) -> Iterator[Fact]:
    """sum_{i <= t} M^{2i} against [I - M^2]^{-1} [I - M^{2(t+1)}] in fractions, and the columns' covariance."""
    for q in (1, 2, 3):
        M = rationals.identity(q) - Fraction(1, 32) * TwoStage(reference.rational_records(rng, 7, q, 1)).A
        unit = rationals.identity(q)
        for t in (0, 1, 4):
            total = np.sum([rationals.power(M, 2 * i) for i in range(t + 1)], axis=0)
            closed = rationals.inverse(unit - M @ M) @ (unit - rationals.power(M, 2 * (t + 1 - older)))
            yield Fact(f"q = {q}, t = {t}", total, closed, 0)
            yield _columns(M, t, closed)


def _columns(M: np.ndarray, t: int, closed: np.ndarray) -> Fact:
    """N as a linear map of all entries of Xi^(0) ... Xi^(t), two columns: covariance I (x) closed."""
    q = len(M)
    unit = rationals.identity(2)
    maps = np.concatenate([np.kron(unit, rationals.power(M, t - i)) for i in range(t + 1)], axis=1)
    return Fact(f"two columns, q = {q}, t = {t}", maps @ maps.T, np.kron(unit, closed), 0)


def _law_of_theta(rng: np.random.Generator) -> Iterator[Fact]:
    """`theta_covariance` against the sum over the steps, at one step and between two."""
    records = reference.rational_records(rng, 9, 3, 2).floats()
    moments, eta, lambda1 = Moments.of(*records), 0.05, 0.7
    M = np.eye(3) - eta * moments.A
    for t, s in ((1, 1), (2, 2), (6, 6), (6, 4)):
        powers = [np.linalg.matrix_power(M, i) for i in range(t)]
        total = sum(powers[t - 1 - i] @ powers[s - 1 - i].T for i in range(min(t, s)))
        yield Fact(
            f"t = {t}, s = {s}", theta_covariance(moments, eta, lambda1, t, s), eta**2 * lambda1**2 * total, 1e-9
        )


def _geometric(older: int = 0) -> Iterator[tuple[Any, ...]]:
    """One term more: m an eigenvalue of M^2, P = m^(t + 1)."""
    m, P = sympy.symbols("m P")
    yield "t = 0", 1, (1 - m ** (1 - older)) / (1 - m)
    yield "from t to t + 1", 1 + m * (1 - P) / (1 - m), (1 - m * P) / (1 - m)


LEM_D_4A = Claim(
    id="iv/lem-d.4a",
    where="App. E.4",
    page=29,
    kind="mc-equality",
    statement=(
        "Given $Z$, the columns of $N^((t))$ are independent and $N(0, eta^2 lambda_1^2 [I - M^2]^(-1) [I - M^(2 "
        "(t + 1))])$."
    ),
    remark="For $eta A$ without the eigenvalues 0 and 2; the sum over the steps holds with them.",
    checks=(
        Symbolic(residuals=_geometric, impostors={"one power less": {"residuals": {"older": 1}}}),
        Agreement(facts=_covariances, role="control", impostors={"one power less": {"facts": {"older": 1}}}),
        Agreement(facts=_law_of_theta, role="control", impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
    ),
    derivation=Derivation(
        text=(
            "By (11) a column of $N^((t))$ is $eta sum_(i <= t) M^(t - i)$ applied to the same column of the "
            "$Xi^((i))$, independent and $N(0, lambda_1^2 I)$: columns are independent, normal and centred, of "
            "covariance $eta^2 lambda_1^2 sum_(k <= t) M^(2 k)$. For each eigenvalue of $M^2$, not 1, the sum is "
            "proved to be as stated, from one $t$ to the next."
        ),
        lemmas=("independence", "spectral theorem", "induction"),
    ),
)


def _noise_bounds(rng: np.random.Generator) -> Iterator[Fact]:
    """What the printed bound is made of: the largest geometric sum, a union over columns, Chernoff for one column.

    `sharper` takes the spectral norm for the Frobenius norm: p and q change places, and sqrt(p) + sqrt(q) remains.
    """
    for eta, lambda1, kappa in ((0.7, 0.3, 0.6), (1.9, 2.0, 0.9)):
        largest = math.sqrt(sum((eta * lambda1 * kappa**i) ** 2 for i in range(2000)))
        for name, bound in (("printed", lemmas.noise_bound), ("sharper", lemmas.gaussian_noise_bound)):
            design = isotropic_design(100, 2, 3, 1.5)
            unit = bound(design, eta=1.0, lambda1=1.0, kappa_theta=0.0)
            found = bound(design, eta=eta, lambda1=lambda1, kappa_theta=kappa) / unit
            yield Fact(f"{name} at eta = {eta}, kappa = {kappa} in units of its scale", found, largest, 1e-12)
    for p, q, tau in ((1, 4, 0.3), (3, 5, 2.0), (8, 8, 40.0)):
        column = math.sqrt(p) * _reach(1, q, tau + math.log(p))
        yield Fact(f"union over p = {p} columns, q = {q}, tau = {tau}", _reach(p, q, tau), column, 1e-12)
    for q in (1, 3):
        exponent = -math.log(chdtrc(q, _reach(1, q, 300.0) ** 2)) / 300.0
        yield Fact(f"exponent of one column over tau = 300, q = {q}", exponent, 1.1, 0.1)
    for p, q, tau, stated in ((1, 10**8, 1e-3, 1e4 + 1), (10**8, 10**8, 1e-3, 2e4), (1, 1, 2e8, 2e4 + 2)):
        yield Fact(f"sharper, p = {p}, q = {q}, tau = {tau}", _sharper_reach(p, q, tau), stated, 1e-5)


def _reach(p: int, q: int, tau: float) -> float:
    """The printed bound in units of eta lambda_1 / sqrt(1 - kappa²)."""
    design = isotropic_design(1000, p, q, tau)
    return float(lemmas.noise_bound(design, eta=1.0, lambda1=1.0, kappa_theta=0.0))


def _sharper_reach(p: int, q: int, tau: float) -> float:
    design = isotropic_design(1000, p, q, tau)
    return float(lemmas.gaussian_noise_bound(design, eta=1.0, lambda1=1.0, kappa_theta=0.0))


def _noise_tail(p: float, excess: float, tau: float, share: float = 1.0) -> Sides:
    """P(||g|| > printed bound), g standard in R^(pq), and e^{-tau}: ||N|| <= ||N||_F."""
    q = p + excess
    return chdtrc(p * q, (share * _reach(int(p), int(q), tau)) ** 2), np.exp(-tau)


def _first_stage_error(rng: np.random.Generator) -> Iterator[Fact]:
    """`first_stage_bound` attained without noise for q = 1, and by the noise alone after a long burn-in."""
    records = reference.rational_records(rng, 6, 1, 1)
    a, theta_hat = TwoStage(records).A[0, 0], TwoStage(records).theta_hat[0, 0]
    eta = Fraction(1, 3) / a
    path = reference.descent(records, eta=eta, alpha=Fraction(1, 32), noise=reference.noiseless(4))
    settings = {"eta": float(eta), "kappa_theta": 2 / 3, "theta_hat_norm": abs(float(theta_hat))}
    for t in range(5):
        stated = lemmas.first_stage_bound(isotropic_design(6), lambda1=0.0, burn_in=t, **settings)
        yield Fact(f"|Theta_{t} - theta_hat| without noise", abs(float(path[t][0][0, 0] - theta_hat)), stated, 1e-12)
    late = lemmas.first_stage_bound(isotropic_design(6), lambda1=0.4, burn_in=500, **settings)
    noise = lemmas.noise_bound(isotropic_design(6), eta=float(eta), lambda1=0.4, kappa_theta=2 / 3)
    yield Fact("after 500 steps", late, noise, 1e-12)


LEM_D_4B = Claim(
    id="iv/lem-d.4b",
    where="Lemma D.4",
    page=21,
    kind="inequality",
    statement=(
        "With probability at least $1 - 3 e^(-tau)$: $norm(N^((t))) <= (eta lambda_1)/sqrt(1 - kappa_Theta^2) "
        "(sqrt(p q) + sqrt(2 p (log p + tau)))$, and $norm(e_Theta^((t))) <= kappa_Theta^t norm(e_Theta^((0)))$ plus "
        "the same."
    ),
    hypotheses="Lemma D.2.",
    remark=(
        "One $t$ at a time (all $t$ at once: iv/eq-18) and $delta < 1$. The proof bounds the spectral norm by that of "
        "Frobenius; $sqrt(p) + sqrt(q) + sqrt(2 tau)$ would do in the last factor."
    ),
    setting=(
        "Given Lemma D.2, $norm(N^((t)))_F$ is at most $eta lambda_1 \\/ sqrt(1 - kappa_Theta^2)$ times the length of "
        "a standard normal vector in $RR^(p q)$."
    ),
    checks=(
        Symbolic(nonnegative=tails.chernoff, impostors={"half of s": {"nonnegative": {"halves": 1}}}),
        Agreement(facts=_noise_bounds, role="control", impostors={"2 % off": {"facts": Times(1.02)}}),
        Agreement(facts=_first_stage_error, role="control", impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
        Search(
            sides=_noise_tail,
            role="control",
            box={"p": Whole(1, 1000, "log"), "excess": Whole(0, 1000), "tau": Real(0.01, 300.0, "log")},
            evaluations=1500,
            impostors={"half the bound": {"sides": {"share": 0.5}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "On the event of Lemma D.2, of probability $1 - 2 e^(-tau)$, the eigenvalues of $M$ are at most "
            "$kappa_Theta$ in size, the covariances of iv/lem-d.4a at most $eta^2 lambda_1^2 \\/ (1 - kappa_Theta^2) "
            "I$, and $norm(N^((t)))$, at most the norm of Frobenius, is at most $eta lambda_1 \\/ sqrt(1 - "
            "kappa_Theta^2)$ times the length of a standard normal vector in $RR^(p q)$. This exceeds $sqrt(d) + "
            "sqrt(2 x)$, $d = p q$, with probability at most $e^(-x)$ by Chernoff, whose exponent less $x$ is proved "
            "to be 0 at $x = 0$ and to grow; and $p (log p + tau) >= x = tau$. The rest is (11) with $norm(M^t) <= "
            "kappa_Theta^t$."
        ),
        lemmas=("spectral theorem", "geometric series", "Markov", "monotony", "triangle inequality", "union bound"),
    ),
)


def _column_norm(contractions, kappa, steps, factor: float = 1.0) -> Sides:
    """max_j sum_{i <= t} m_j^{2i}, |m_j| <= kappa, against 1 / (1 - kappa^2)."""
    m = kappa[:, None] * contractions
    terms = m[:, None, :] ** (2 * np.arange(41))[None, :, None]
    sums = np.where(np.arange(41)[None, :, None] <= steps[:, None, None], terms, 0.0).sum(axis=1)
    return sums.max(axis=1), factor / (1 - kappa**2)


def _column_tail(variances, level, doubled: float = 2.0) -> Sides:
    """P(||N_k|| > sqrt(tr) + sqrt(2 ||S|| x)) for given eigenvalues of S and e^{-x}.

    The distribution function has an absolute error of 1e-9: 1e-3 of e^{-x} at most in the box.
    """
    radius = np.sqrt(variances.sum(axis=1)) + np.sqrt(doubled * variances.max(axis=1) * level)
    scaled = variances / radius[:, None] ** 2
    covariance = scaled[:, :, None] * np.eye(variances.shape[1])
    return 1 - norm_cdf(np.zeros_like(scaled), covariance, 1.0), np.exp(-level)


def _weighted_squares(quarter: int = 4) -> Iterator[tuple[str, sympy.Expr]]:
    """-log(1 - u) / 2 - u / 2 <= u^2 / (4 (1 - u)) for 0 <= u < 1: both are 0 at 0, and the slopes; u = w / (1 + w)."""
    u, w = sympy.Symbol("u"), sympy.Symbol("w", positive=True)
    slope = sympy.diff(u**2 / (quarter * (1 - u)) + sympy.log(1 - u) / 2 + u / 2, u)
    yield "difference of the slopes", slope.subs(u, w / (1 + w))


def _best_order(doubled: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """l t - l^2 v / (2 (1 - c l)) = x at t = sqrt(2 v x) + c x, l = r / (1 + c r), r = sqrt(2 x / v); x = r^2 v / 2."""
    r, v, c = sympy.symbols("r v c", positive=True)
    order, x = r / (1 + c * r), r**2 * v / 2
    t = sympy.Rational(doubled, 2) * v * r + c * x
    yield "exponent less x", order * t - order**2 * v / (2 * (1 - c * order)) - x


LEM_D_4C = Claim(
    id="iv/lem-d.4c",
    where="App. E.4",
    page=29,
    kind="inequality",
    statement=(
        "$norm(tilde(Sigma)_k) <= eta^2 lambda_1^2 \\/ (1 - kappa_Theta^2)$, and with probability at least $1 - "
        "1/p "
        'e^(-tau)$: $norm(N_k) <= sqrt(op("Tr") tilde(Sigma)_k) + sqrt(2 norm(tilde(Sigma)_k) (log p + tau))$.'
    ),
    setting="The second part for any three eigenvalues of $tilde(Sigma)_k$, by the exact distribution of the length.",
    checks=(
        Symbolic(
            residuals=_best_order,
            nonnegative=_weighted_squares,
            impostors={
                "half of sqrt(2 v x)": {"residuals": {"doubled": 1}},
                "u^2 / (5 (1 - u))": {"nonnegative": {"quarter": 5}},
            },
        ),
        Search(
            sides=_column_norm,
            role="control",
            box={"contractions": (Real(-1.0, 1.0), 3), "kappa": Real(0.0, 0.999), "steps": Whole(0, 40)},
            vectorised=True,
            impostors={"two per cent less": {"sides": Times(1, 0.98)}},
        ),
        Search(
            sides=_column_tail,
            role="control",
            box={"variances": (Real(1e-6, 1.0, "log"), 3), "level": Real(0.01, 12.0, "log")},
            extremal=lambda: [{"variances": [1.0, 1e-9, 1e-9], "level": 8.0}],
            vectorised=True,
            rounding=1e-3,
            impostors={"sqrt(x) for sqrt(2 x)": {"sides": {"doubled": 1.0}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "The eigenvalues of $tilde(Sigma)_k$ are $eta^2 lambda_1^2$ times sums of even powers of numbers of at "
            "most $kappa_Theta$ in size. With $s_i$ for them, $norm(N_k)^2$ is $sum s_i g_i^2$, and $log EE e^(l "
            "(norm(N_k)^2 - sum s_i))$, a sum of $-log(1 - u_i)\\/2 - u_i\\/2$ with $u_i = 2 l s_i$, is at most $l^2 v "
            "\\/ (2 (1 - c l))$, $v = 2 sum s_i^2$, $c = 2 max s_i$, since the slopes in $u_i$ are proved to be "
            "ordered. By Chernoff, at the order for which the exponent is proved to be $x = log p + tau$, with "
            "probability at least $1 - e^(-x)$ $norm(N_k)^2 <= sum s_i + sqrt(2 v x) + c x$, at most the square of "
            "$sqrt(sum s_i) + sqrt(c x)$, as $v <= c sum s_i$."
        ),
        lemmas=("spectral theorem", "geometric series", "independence", "monotony", "Markov"),
    ),
)


# --- Lemma D.5 ---


def _instrument_as_error(m, s):
    """||theta_hat - Theta|| = 1 for e_2 = z = +-1 over psi of (10), n = 10^4 s, tau = 2 and all else 1."""
    root = 100 * m.sqrt(s)
    delta = (1 + m.sqrt(m.number(2))) / root
    return 1 / ((2 + m.log(m.number(2))) / (root * (1 - delta) * (1 - delta)))


def _instrument_as_error_reduced(m, x):
    """The quotient times sqrt(x): delta = Q sqrt(x) / 100."""
    left = 1 - (1 + m.sqrt(m.number(2))) * m.sqrt(x) / 100
    return 100 * left * left / (2 + m.log(m.number(2)))


def _definitions(rng: np.random.Generator) -> Iterator[Fact]:
    """psi is Lemma D.3's bound over the least eigenvalue of Z'Z that Lemma D.2 leaves."""
    for n, p, q, tau, C_0, c_0 in (
        (400, 1, 1, 2.0, 1.0, 1.0),
        (10**4, 2, 5, 3.0, 1.4, 0.7),
        (10**6, 4, 4, 0.5, 0.3, 9.0),
    ):
        design = Design(n=n, p=p, q=q, theta_norm=2.0, theta_least=1.0, sigma_z=1.3, sigma_2=0.6, tau=tau)
        constants = Constants(concentration=C_0, product=c_0)
        bounds = spectrum(design, constants)
        least, largest = lemmas.singular_values(design, bounds)
        stated = lemmas.product_bound(design, constants) / least**2
        yield Fact(f"psi at n = {n}, p = {p}, q = {q}", bounds.psi, stated, 1e-12)
        reach = C_0 * 1.3**2 * sum(math.sqrt(part) for part in (q, tau))
        yield Fact(f"half the width of Lemma D.2, n = {n}, q = {q}", (largest - least) / 2, reach, 1e-9)


def _solved(root, product, factor: float = 1.0) -> Sides:
    """||A^{-1} W|| against ||W|| / lambda_min(A), q = 3, p = 2: the step (36)."""
    R = root.reshape(-1, 3, 3)
    A, W = np.swapaxes(R, 1, 2) @ R + 0.01 * np.eye(3), product.reshape(-1, 3, 2)
    solved = np.linalg.norm(np.linalg.solve(A, W), ord=2, axis=(1, 2))
    return solved, factor * np.linalg.norm(W, ord=2, axis=(1, 2)) / np.linalg.eigvalsh(A)[:, 0]


def _first_stage(product: float = 1.0) -> list[Event]:
    """||theta_hat - Theta|| <= psi for Gaussian z and e_2, independent."""
    constants = Constants(concentration=GAUSSIAN.concentration, product=product)

    def below(model: LinearModel, tau: float) -> Occurs:
        psi = spectrum(Design.of(model.theta, model.n, tau=tau), constants).psi
        return lambda arrays: arrays["first_stage"] <= psi

    return likely_events([isotropic_model(*sizes) for sizes in ((40, 1, 1), (2000, 5, 5), (10**8, 3, 20))], below)


LEM_D_5 = Claim(
    id="iv/lem-d.5",
    where="Lemma D.5",
    page=22,
    kind="mc-rate",
    statement="With probability at least $1 - 3 e^(-tau)$: $norm(hat(Theta) - Theta) <= psi$.",
    hypotheses="$n >= C_0^2 sigma_z^4 Q^2$ and Assumptions 1 and 2, which relate $z$ to $epsilon_1$ alone.",
    setting="$C_0 = c_0 = sigma_z = sigma_2 = p = q = 1$.",
    checks=(
        Unbounded(
            quotient=_instrument_as_error,
            reduced=_instrument_as_error_reduced,
            power=Fraction(1, 2),
            shown={"first": 1, "last": 10**4},
        ),
    ),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Nothing in Lemma D.5 keeps $epsilon_2$ from being correlated with $z$: for $epsilon_2 = z = plus.minus 1$ "
            "the error $norm(hat(Theta) - Theta)$ is 1 in every sample, ${first:3}$ times the printed $psi$ at $tau = "
            "2$, $n = 10^4$ and ${last:4}$ times at $n = 10^8$."
        ),
        consequence="Inherited from Lemma D.3; with $EE z epsilon_2^top = 0$, the meaning of a first stage, it holds.",
        root="iv/ass-2",
    ),
    correction=Correction(
        statement=(
            (
                "If $n >= C_0^2 sigma_z^4 Q^2$, Assumption 2 holds and $EE z epsilon_2^top = 0$, then with probability "
                "at least $1 - 3 e^(-tau)$: $norm(hat(Theta) - Theta) <= psi$;"
            ),
            "$C_0 = sqrt(2)$ and $c_0 = 1$ serve in the Gaussian samples tried.",
        ),
        ground="$hat(Theta) - Theta = (Z^top Z)^(-1) Z^top E_2$, and Lemma D.3 needs the product to have mean 0.",
        checks=(
            Agreement(decides="a", facts=_definitions, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
            Search(
                decides="a",
                sides=_solved,
                box={"root": (Real(-1.0, 1.0), 9), "product": (Real(-1.0, 1.0), 6)},
                extremal=lambda: [
                    {"root": np.diag([1.0, 1.0, 0.5]).ravel().tolist(), "product": [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]}
                ],
                vectorised=True,
                impostors={"three per cent less": {"sides": Times(1, 0.97)}},
            ),
            Frequency(decides="ab", events=_first_stage, impostors={"c_0 = 0.09": {"events": {"product": 0.09}}}),
        ),
    ),
)
