"""Lemmas D.2 and D.3: spectra of random matrices and norms of products of two of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import sympy

from dpbounds.iv import Constants, lemmas, spectrum
from simulators.engine import Experiment
from verify.checks import Event, Frequency, Inequality, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real, Whole
from verify.iv.claims import tails
from verify.iv.claims.samples import Instruments, Law, Rows, drawn, isotropic_design, isotropic_model, row_products

Sides = tuple[np.ndarray, np.ndarray]
ROOT_TWO = float(np.sqrt(2.0))


# --- Lemma D.2 ---


def _singular_values(constant: float = ROOT_TWO) -> list[Event]:
    """All singular values of Z within sqrt(n) (1 -+ delta), sigma_z = 1."""
    events = []
    gaussian: Instruments = "gaussian"
    cases: list[tuple[int, int, Instruments]] = [(50, 1, gaussian), (200, 10, gaussian), (10**8, 30, gaussian)]
    cases.append((100, 5, "sign"))
    for n, q, instruments in cases:
        for tau in (1.5, 4.0):
            design = isotropic_design(n, 1, q, tau)
            low, high = lemmas.singular_values(design, spectrum(design, Constants(concentration=constant)))
            events.append(
                Event(
                    label=f"n = {n}, q = {q}, {instruments} rows, tau = {tau}",
                    experiment=drawn(isotropic_model(n, 1, q, instruments=instruments), 1000),
                    occurs=lambda arrays, ends=(low, high, n): (
                        (np.sqrt(ends[2] * arrays["A_least"]) >= ends[0])
                        & (np.sqrt(ends[2] * arrays["A_largest"]) <= ends[1])
                    ),
                    at_least=1 - 2 * math.exp(-tau),
                )
            )
    return events


def _enough_for_gaussians(factor: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """sqrt(q) + sqrt(2 tau) <= sqrt(2) (sqrt(q) + sqrt(tau)), a = sqrt(q), b = sqrt(tau)."""
    a, b = sympy.symbols("a b", positive=True)
    yield "sqrt(2) Q", sympy.sqrt(factor) * (a + b) - (a + sympy.sqrt(2) * b)


# --- Lemma D.3 ---

# The correction, sigma_z = sigma_2 = 1: one entry of Z'E_2 is a sum of n independent W = z e with E W = 0. By `_series`
# and W^2 <= 8.67 e^{|W| / 4}, |W| <= (z^2 + e^2) / 2 and E e^{a z^2} <= (1 - 2a)^{-1/2}, E e^{l W} <= e^{9.7 l^2} for
# l <= 0.15. At l = 0.15 / sqrt(n) all pq entries are below c_0 sqrt(n) u, u = tau + log(2pq), with probability
# 1 - e^{-tau} if 0.15 c_0 u >= u + 9.7 * 0.15^2.


def _series(shift: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """e^x <= 1 + x + (x^2 / 2) e^{|x|}: 1 / (2 (k - 2)!) >= 1 / k! for k = 2 + s, times 2 k!; and the constant 9.7."""
    s = sympy.Symbol("s", positive=True)
    k = shift + s
    yield "coefficient of x^k", k * (k - 1) - 2
    yield "8.67 / 2 * (1 - 2 * 0.4)^(-1/2) <= 9.7", sympy.Rational(97, 10) - sympy.Rational(867, 200) * sympy.sqrt(5)


def _union(m, u, constant="9", rate="0.15", cost="0.21825"):
    """(u + cost) / (rate c_0), to be at most u."""
    return (u + m.number(cost)) / m.number(rate) / m.number(constant)


def _independent(m, u, constant):
    """The same for independent rows: E e^{l z e} <= (1 - l^2)^{-1/2} at l = 0.7 / sqrt(n)."""
    rate = m.number("0.7")
    return (u - m.log(1 - rate**2) / 2) / rate / m.number(constant)


LEVELS = {"u": Real(float(np.log(2.0)), 1e12, "log")}


def _products(constant: float = 1.0) -> list[Event]:
    """||Z'E_2|| for Gaussian rows, sigma_z = sigma_2 = 1; n up to 10^8, p = q up to 32."""
    events = []
    for n, size in ((10, 1), (10**8, 1), (1000, 8), (10**8, 32)):
        design = isotropic_design(n, size, size, 2.0)
        bound = lemmas.product_bound(design, Constants(product=constant)) / n
        events.append(
            Event(
                label=f"independent of Z, n = {n}, p = q = {size}, tau = 2",
                experiment=drawn(isotropic_model(max(n, size), size, size), 250),
                occurs=lambda arrays, bound=bound: arrays["product"] <= bound,
                at_least=1 - math.exp(-2.0),
            )
        )
    return events


def _dependent_products(constant: float = 9.0) -> list[Event]:
    """The same for e = s z, s a random sign per row, and the independent case from records."""
    events = []
    cases: list[tuple[Law, int, int]] = [("random sign", 5, 1), ("random sign", 200, 4), ("independent", 50, 2)]
    for law, n, q in cases:
        bound = lemmas.product_bound(isotropic_design(n, q, q, 2.0), Constants(product=constant)) / n
        events.append(
            Event(
                label=f"{law}, n = {n}, p = q = {q}, tau = 2",
                experiment=Experiment(
                    algorithm=row_products, problem=Rows(n=n, q=q, law=law), settings=None, block_trials=250
                ),
                occurs=lambda arrays, bound=bound: arrays["product"] <= bound,
                at_least=1 - math.exp(-2.0),
            )
        )
    return events


# --- App. E.3 ---


def _entries(matrix, factor: float = 1.0) -> Sides:
    """Spectral norm of a (4, 3) matrix against sqrt(12) times its largest entry."""
    shaped = matrix.reshape(-1, 4, 3)
    return np.linalg.norm(shaped, ord=2, axis=(1, 2)), factor * math.sqrt(12) * np.abs(shaped).max(axis=(1, 2))


def _inverted(doubled: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """The tail at the level of Lemma D.3 is e^{-tau}."""
    pq, tau, scale = sympy.symbols("N tau c", positive=True)
    level = scale * (tau + sympy.log(doubled * pq))
    yield "2pq exp(-level / c)", 2 * pq * sympy.exp(-level / scale) - sympy.exp(-tau)


UNCORRELATED = "if also $EE z epsilon_2^top = 0$"

CLAIMS = (
    Claim(
        id="iv/lem-d.2",
        where="Lemma D.2",
        kind="mc-rate",
        statement=(
            "With probability at least $1 - 2 e^(-tau)$: $sqrt(n) (1 - delta) <= sigma_min (Z) <= sigma_max (Z) <= "
            "sqrt(n) (1 + delta)$, and for $n >= C_0^2 sigma_z^4 Q^2$ the squares of these for $Z^top Z$."
        ),
        hypotheses=(
            "$sigma_2$ in the lemma is read as $sigma_z$. $C_0 = sqrt(2)$ is enough for Gaussian rows by Davidson and "
            "Szarek (2001), necessary for $q = 1$ as $tau -> oo$, and is tried on rows of signs."
        ),
        checks=(
            Symbolic(
                nonnegative=_enough_for_gaussians,
                impostors={"C_0 = 1": {"nonnegative": lambda: _enough_for_gaussians(1)}},
            ),
            Search(
                sides=lambda n, tau: tails.singular_value_tail(n, tau, ROOT_TWO),
                box={"n": Whole(1, 10**4, "log"), "tau": Real(0.7, 200.0, "log")},
                vectorised=True,
                impostors={"C_0 = 1.2": {"sides": lambda n, tau: tails.singular_value_tail(n, tau, 1.2)}},
            ),
            Frequency(
                events=_singular_values,
                impostors={"C_0 = 0.4": {"events": lambda: _singular_values(0.4)}},
            ),
        ),
    ),
    Claim(
        id="iv/lem-d.3",
        where="Lemma D.3",
        kind="mc-rate",
        statement=(
            "With probability at least $1 - e^(-tau)$: $norm(Z^top E_2) <= c_0 sigma_z sigma_2 sqrt(n p q) (tau + "
            "log(2 p q))$."
        ),
        hypotheses=(
            "Independent mean-zero sub-Gaussian rows of $Z$ and of $E_2$, nothing about $z_i$ and $epsilon_(2 i)$ "
            "together. Tried on $epsilon_(2 i) = z_i = plus.minus 1$, where $Z^top E_2 = n$."
        ),
        checks=(
            Inequality(
                smaller=lambda m, n, tau, constant: n,
                larger=lambda m, n, tau, constant: constant * m.sqrt(n) * (tau + m.log(m.number(2))),
                box={"n": Real(1.0, 1e12, "log"), "tau": Real(0.1, 10.0), "constant": Real(0.5, 100.0, "log")},
            ),
        ),
        correction=Correction(
            statement=(
                f"{UNCORRELATED}, with $c_0 = 9$ for the variance proxies of Assumption 2, and 2.15 where $z_i$ and "
                "$epsilon_(2 i)$ are independent."
            ),
            checks=(
                Symbolic(nonnegative=_series, impostors={"from k = 1": {"nonnegative": lambda: _series(1)}}),
                Inequality(
                    smaller=lambda m, x: x**2,
                    larger=lambda m, x: m.number("8.67") * m.exp(x / 4),
                    box={"x": Real(1e-6, 1e3, "log")},
                    impostors={"8.65": {"larger": lambda m, x: m.number("8.65") * m.exp(x / 4)}},
                ),
                Inequality(
                    smaller=_union,
                    larger=lambda m, u: u,
                    box=LEVELS,
                    impostors={"c_0 = 8.7": {"smaller": lambda m, u: _union(m, u, "8.7")}},
                ),
                Inequality(
                    smaller=lambda m, u: _independent(m, u, "2.15"),
                    larger=lambda m, u: u,
                    box=LEVELS,
                    impostors={"c_0 = 2.1": {"smaller": lambda m, u: _independent(m, u, "2.1")}},
                ),
                Frequency(
                    events=_products,
                    trials={"quick": 1000, "full": 10_000},
                    impostors={"c_0 = 0.4": {"events": lambda: _products(0.4)}},
                ),
                Frequency(
                    events=_dependent_products,
                    trials={"quick": 1000, "full": 10_000},
                    impostors={"c_0 = 0.7": {"events": lambda: _dependent_products(0.7)}},
                ),
            ),
        ),
    ),
    Claim(
        id="iv/lem-d.3-steps",
        where="App. E.3",
        kind="inequality",
        statement=(
            "$norm(B) <= sqrt(p q) norm(B)_max$, and $P(norm(Z^top E_2) >= tau) <= 2 p q e^(-tau \\/ (c_0 sigma_z "
            "sigma_2 sqrt(n p q)))$ inverts to Lemma D.3."
        ),
        checks=(
            Search(
                sides=_entries,
                box={"matrix": (Real(-1.0, 1.0), 12)},
                extremal=lambda: [{"matrix": [1.0] * 12}],
                vectorised=True,
                impostors={"one per cent less": {"sides": lambda matrix: _entries(matrix, 0.99)}},
            ),
            Symbolic(residuals=_inverted, impostors={"log(pq)": {"residuals": lambda: _inverted(1)}}),
        ),
    ),
)
