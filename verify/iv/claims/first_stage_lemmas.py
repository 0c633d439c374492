"""Lemmas D.4 and D.5: the noise of the first stage, and theta-hat."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dpbounds.iv import Constants, spectrum
from dpbounds.iv.gaussian_norm import norm_cdf
from verify.checks import Agreement, Event, Fact, Frequency, Inequality, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole
from verify.iv.claims import rationals, reference, tails
from verify.iv.claims.random_matrices import ROOT_TWO, UNCORRELATED
from verify.iv.claims.rationals import TwoStage
from verify.iv.claims.samples import drawn, isotropic_design, isotropic_model

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


def _matrix_tail(p, q, tau, doubled: float = 2.0) -> Sides:
    """P(||g|| > sqrt(pq) + sqrt(2p (log p + tau))), g standard in R^(pq), and e^{-tau}: ||N|| <= ||N||_F."""
    level = p * (np.log(p) + tau)
    return tails.length_tail(p * q, level, doubled)[0], np.exp(-tau)


# --- Lemma D.5 ---


def _offset(m, n, tau):
    """psi for z = e_2, p = q = 1, C_0 = c_0 = sigma_z = sigma_2 = 1."""
    delta = (1 + m.sqrt(tau)) / m.sqrt(n)
    return (tau + m.log(m.number(2))) / m.sqrt(n) / m.power(1 - delta, 2)


def _first_stage(constants: Constants) -> list[Event]:
    """||theta_hat - Theta|| <= psi for Gaussian z and e_2, independent."""
    events = []
    for n, p, q in ((40, 1, 1), (2000, 5, 5), (10**8, 3, 20)):
        for tau in (2.0, 4.0):
            psi = spectrum(isotropic_design(n, p, q, tau), constants).psi
            events.append(
                Event(
                    label=f"n = {n}, p = {p}, q = {q}, tau = {tau}",
                    experiment=drawn(isotropic_model(n, p, q)),
                    occurs=lambda arrays, psi=psi: arrays["first_stage"] <= psi,
                    at_least=1 - 3 * math.exp(-tau),
                )
            )
    return events


def _solved(root, product, factor: float = 1.0) -> Sides:
    """||A^{-1} W|| against ||W|| / lambda_min(A), q = 3, p = 2: the step (36)."""
    R = root.reshape(-1, 3, 3)
    A, W = np.swapaxes(R, 1, 2) @ R + 0.01 * np.eye(3), product.reshape(-1, 3, 2)
    solved = np.linalg.norm(np.linalg.solve(A, W), ord=2, axis=(1, 2))
    return solved, factor * np.linalg.norm(W, ord=2, axis=(1, 2)) / np.linalg.eigvalsh(A)[:, 0]


def _least_direction() -> Iterator[Mapping[str, Any]]:
    """W along the least eigenvector of A."""
    yield {"root": np.diag([1.0, 1.0, 0.5]).ravel().tolist(), "product": [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]}


CLAIMS = (
    Claim(
        id="iv/lem-d.4a",
        where="App. E.4",
        kind="mc-equality",
        statement=(
            "Given $Z$, the columns of $N^((t))$ are independent and $N(0, eta^2 lambda_1^2 [I - M^2]^(-1) [I - M^(2 "
            "(t + 1))])$."
        ),
        hypotheses="$eta A$ without the eigenvalues 0 and 2.",
        checks=(
            Agreement(facts=_covariances, impostors={"one power less": {"facts": lambda rng: _covariances(rng, 1)}}),
        ),
    ),
    Claim(
        id="iv/lem-d.4b",
        where="Lemma D.4",
        kind="inequality",
        statement=(
            "With probability at least $1 - 3 e^(-tau)$: $norm(N^((t))) <= (eta lambda_1)/sqrt(1 - kappa_Theta^2) "
            "(sqrt(p q) + sqrt(2 p (log p + tau)))$."
        ),
        hypotheses=(
            "One $t$ at a time (all $t$ at once: iv/eq-18), $delta < 1$. Given Lemma D.2, $norm(N^((t)))_F$ is at most "
            "$eta lambda_1 \\/ sqrt(1 - kappa_Theta^2)$ times the length of a standard normal vector in $RR^(p q)$; "
            "$sqrt(p q) + sqrt(2 tau)$ would do, and $sqrt(p) + sqrt(q) + sqrt(2 tau)$."
        ),
        checks=(
            Symbolic(
                nonnegative=tails.chernoff,
                impostors={"half of s": {"nonnegative": lambda: tails.chernoff(1)}},
            ),
            Search(
                sides=_matrix_tail,
                box={"p": Whole(1, 50), "q": Whole(1, 50), "tau": Real(0.01, 300.0, "log")},
                vectorised=True,
                impostors={
                    "sqrt(tau) for sqrt(2 tau)": {"sides": lambda p, q, tau: _matrix_tail(p, q, tau, 1.0)},
                },
            ),
        ),
    ),
    Claim(
        id="iv/lem-d.4c",
        where="App. E.4",
        kind="inequality",
        statement=(
            "$norm(tilde(Sigma)_k) <= eta^2 lambda_1^2 \\/ (1 - kappa_Theta^2)$, and with probability at least $1 - "
            "1/p "
            'e^(-tau)$: $norm(N_k) <= sqrt(op("Tr") tilde(Sigma)_k) + sqrt(2 norm(tilde(Sigma)_k) (log p + tau))$.'
        ),
        hypotheses="The second part exactly for any three eigenvalues of $tilde(Sigma)_k$.",
        checks=(
            Search(
                sides=_column_norm,
                box={"contractions": (Real(-1.0, 1.0), 3), "kappa": Real(0.0, 0.999), "steps": Whole(0, 40)},
                vectorised=True,
                impostors={
                    "two per cent less": {
                        "sides": lambda contractions, kappa, steps: _column_norm(contractions, kappa, steps, 0.98),
                    },
                },
            ),
            Search(
                sides=_column_tail,
                box={"variances": (Real(1e-6, 1.0, "log"), 3), "level": Real(0.01, 12.0, "log")},
                extremal=lambda: [{"variances": [1.0, 1e-9, 1e-9], "level": 8.0}],
                vectorised=True,
                rounding=1e-3,
                impostors={
                    "sqrt(x) for sqrt(2 x)": {
                        "sides": lambda variances, level: _column_tail(variances, level, 1.0),
                    },
                },
            ),
        ),
    ),
    Claim(
        id="iv/lem-d.5",
        where="Lemma D.5",
        kind="mc-rate",
        statement="With probability at least $1 - 3 e^(-tau)$: $norm(hat(Theta) - Theta) <= psi$.",
        hypotheses=(
            "$n >= C_0^2 sigma_z^4 Q^2$ and Assumptions 1 and 2, which relate $z$ to $epsilon_1$ alone. Tried on "
            "$epsilon_2 = z = plus.minus 1$, where $hat(Theta) - Theta = 1$; $C_0 = c_0 = 1$."
        ),
        checks=(
            Inequality(
                smaller=lambda m, n, tau: m.number(1),
                larger=_offset,
                box={"n": Real(100.0, 1e12, "log"), "tau": Real(1.2, 10.0)},
            ),
        ),
        correction=Correction(
            statement=f"{UNCORRELATED}; with $C_0 = sqrt(2)$, $c_0 = 1$ in Gaussian samples.",
            checks=(
                Search(
                    sides=_solved,
                    box={"root": (Real(-1.0, 1.0), 9), "product": (Real(-1.0, 1.0), 6)},
                    extremal=_least_direction,
                    vectorised=True,
                    impostors={"three per cent less": {"sides": lambda **box: _solved(**box, factor=0.97)}},
                ),
                Frequency(
                    events=lambda: _first_stage(Constants(concentration=ROOT_TWO)),
                    impostors={
                        "c_0 = 0.09": {
                            "events": lambda: _first_stage(Constants(concentration=ROOT_TWO, product=0.09)),
                        },
                    },
                ),
            ),
        ),
    ),
)
