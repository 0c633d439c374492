"""Appendix C.3, Propositions C.19 and C.20: what the proof of Theorem C.18 rests on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Symbolic
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation


def _uncorrelated(*, with_noise: bool = False, independent: bool = True) -> Iterator[tuple[str, sympy.Expr]]:
    """One step in d = 2: the past enters through its second moments, x_t and xi_t are fresh, any law.

    If E[theta delta^T] = 0 and E[w delta^T] = 0 at time t, then again at t + 1. Without independence of xi and x the
    moments E[xi x_i x_j x_k] remain.
    """
    x, xi = sympy.Matrix(sympy.symbols("x1 x2")), sympy.Symbol("xi")
    theta, delta, noise = (sympy.Matrix(sympy.symbols(f"{name}1 {name}2")) for name in ("theta", "delta", "noise"))
    H, eta = sympy.Matrix(2, 2, lambda i, j: sympy.Symbol(f"H{min(i, j)}{max(i, j)}")), sympy.Symbol("eta")
    identity, outer = sympy.eye(2), x * x.T
    following = noise if with_noise else (identity - eta * H) * theta + eta * xi * x - eta * noise
    product = following * ((identity - eta * outer) * delta + eta * (H - outer) * theta).T
    for i, j in itertools.product(range(2), repeat=2):
        yield f"entry ({i}, {j})", _expectation(product[i, j], x, xi, theta, delta, noise, H, independent)


def _every_dimension(*, with_noise: bool = False, independent: bool = True) -> Iterator[tuple[str, sympy.Expr]]:
    """The same step in products that do not commute, for any d: X = x x^T has the mean H given the past, a product with
    xi_t the mean 0, and theta or noise times delta^T of the past the mean 0.
    """
    theta, theta_T, delta_T, noise, x, X, H = sympy.symbols("theta theta_T delta_T noise x X H", commutative=False)
    eta, xi = sympy.symbols("eta xi")
    following = noise if with_noise else (1 - eta * H) * theta + eta * xi * x - eta * noise
    product = sympy.expand(following * (delta_T * (1 - eta * X) + eta * theta_T * (H - X)))
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(product):
        if independent and term.has(xi):
            continue
        if not term.has(xi):
            term = term.subs(X, H)
        total += term.subs({theta * delta_T: 0, noise * delta_T: 0})
    yield "any dimension", sympy.expand(total)


def _expectation(expression, x, xi, theta, delta, noise, H, independent: bool) -> Any:
    """Past pairs (theta or noise, delta) have expectation 0, all other moments of the past stay as symbols."""
    variables = (*x, xi, *theta, *delta, *noise)
    total = sympy.Integer(0)
    for powers, coefficient in sympy.Poly(sympy.expand(expression), *variables).terms():
        past = powers[3:]
        if sum(past) == 2 and sum(past[2:4]) == 1:
            continue
        total += coefficient * _fresh_moment(powers[:2], powers[2], H, independent) * sympy.Symbol(f"past{past}")
    return total


def _fresh_moment(of_x: tuple[int, ...], of_xi: int, H: sympy.Matrix, independent: bool) -> Any:
    """E[xi^a x1^b x2^c]: means 0, E[xi x] = 0 at the minimiser, E[x x^T] = H, symbols for the rest."""
    order = sum(of_x)
    if order + of_xi == 1 or (of_xi == 1 and (independent or order == 1)):
        return sympy.Integer(0)
    if (order, of_xi) == (2, 0):
        return H[int(of_x[0] == 0), int(of_x[1] > 0)]
    return sympy.Integer(1) if order + of_xi == 0 else sympy.Symbol(f"moment{of_x}{of_xi}")


def _path_moments(d: int, steps: int, drive: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """E[theta^(0) delta^T] and E[w_s delta^T] after `steps` steps, all paths of skewed inputs in exact rationals.

    Columns of `theta`, `delta`: coefficients of theta'_0, of xi_0, xi_1, ... and of w_0, w_1, ... (unit variances).
    `drive` multiplies H in the forcing of delta.
    """
    eta, beta = Fraction(1, 5), [Fraction(1), Fraction(-1, 2), Fraction(1, 3)]
    H = np.array([[Fraction(int(i == j), 1 + i) for j in range(d)] for i in range(d)])
    first, second = 1 + steps, 1 + steps + d * steps
    crossed, with_draws = np.zeros((d, d), dtype=object), np.zeros((second - first, d), dtype=object)
    for path in itertools.product(_skewed_points(d), repeat=steps):
        theta, delta = np.zeros((d, second), dtype=object), np.zeros((d, second), dtype=object)
        theta[:, 0], probability = Fraction(1), Fraction(1)
        for t, (x, weight) in enumerate(path):
            outer, previous = np.outer(x, x), theta
            theta = theta - eta * H @ theta
            theta[:, 1 + t] += eta * x
            for k, b in enumerate(beta[: t + 1]):
                column = first + d * (t - k)
                theta[:, column : column + d] -= eta * b * np.eye(d, dtype=int)
            delta = delta - eta * outer @ delta + eta * (drive * H - outer) @ previous
            probability *= weight
        crossed = crossed + probability * theta @ delta.T
        with_draws = with_draws + probability * delta[:, first:].T
    return crossed, with_draws


def _skewed_points(d: int) -> list[tuple[np.ndarray, Fraction]]:
    """Points and probabilities of x, independent skewed entries of variances 1 and 1/2."""
    first = [(Fraction(2), Fraction(1, 5)), (Fraction(-1, 2), Fraction(4, 5))]
    second = [(Fraction(1), Fraction(1, 3)), (Fraction(-1, 2), Fraction(2, 3))]
    return [
        (np.array([value for value, _ in entries]), math.prod((p for _, p in entries), start=Fraction(1)))
        for entries in itertools.product(*(first, second)[:d])
    ]


def _paths(rng: np.random.Generator, which: int, drive: Fraction = Fraction(1)) -> Iterator[Fact]:
    names = ("E[theta^(0) delta^T]", "E[w_s delta^T] over all s")
    for d, steps in ((1, 4), (2, 3)):
        observed = _path_moments(d, steps, drive)[which]
        yield Fact(f"{names[which]}, d = {d}, t = {steps}", observed, np.zeros(observed.shape, dtype=object), 0)


PROP_C_19 = Claim(
    id="ftrl/prop-c.19",
    where="App. C.3, Proposition C.19",
    page=30,
    kind="mc-equality",
    statement="$EE[theta^((0))_t times.o delta^((0))_t] = 0$ for all $t$.",
    hypotheses="Assumption C.17.",
    remark="With $xi$ dependent on $x$ it holds as long as $EE theta^((0)) = EE delta^((0)) = 0$.",
    checks=(
        Symbolic(
            residuals=_uncorrelated,
            impostors={"residuals that depend on x, means not 0": {"residuals": {"independent": False}}},
        ),
        Symbolic(
            residuals=_every_dimension,
            impostors={"residuals that depend on x, in any dimension": {"residuals": {"independent": False}}},
        ),
        Agreement(
            facts=partial(_paths, which=0),
            impostors={"5 % off in H": {"facts": {"drive": Fraction(21, 20)}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "One step of both recursions, $theta^((0))_(t + 1) = (I - eta H) theta^((0))_t + eta xi_t x_t - eta sum_k "
            "beta_k w_(t - k)$ and that of $delta^((0))$, with $x_t$, $xi_t$ independent of the past and of each "
            "other, $EE xi_t = 0$, $EE x_t x_t^top = H$, gives $EE theta^((0))_(t + 1) times.o delta^((0))_(t + 1) = "
            "(I - eta H) EE[theta^((0))_t times.o delta^((0))_t] (I - eta H)$, the draws adding nothing by "
            "Proposition C.20, from $delta^((0))_0 = 0$ on; the checks have it moment by moment in the plane, and for "
            "every $d$ in products that do not commute."
        ),
        lemmas=("independence", "induction"),
    ),
)

PROP_C_20 = Claim(
    id="ftrl/prop-c.20",
    where="App. C.3, Proposition C.20",
    page=31,
    kind="mc-equality",
    statement="$EE[w_tau times.o delta^((0))_t] = 0$ for all $t, tau$.",
    hypotheses="Assumption C.17.",
    checks=(
        Symbolic(residuals=partial(_uncorrelated, with_noise=True)),
        Symbolic(residuals=partial(_every_dimension, with_noise=True)),
        Agreement(
            facts=partial(_paths, which=1),
            impostors={"5 % off in H": {"facts": {"drive": Fraction(21, 20)}}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "$delta^((0))_(t + 1) = (I - eta x_t x_t^top) delta^((0))_t + eta (H - x_t x_t^top) theta^((0))_t$ with "
            "$x_t$ independent of $w_tau$ and the past and $EE x_t x_t^top = H$: $EE w_tau times.o delta^((0))_(t + "
            "1) = EE w_tau times.o delta^((0))_t (I - eta H)$, from $delta^((0))_0 = 0$ on; the checks have it moment "
            "by moment in the plane, and for every $d$ in products that do not commute."
        ),
        lemmas=("independence", "induction"),
    ),
)
