"""Lemma D.1 and its proof (App. E.1): when Algorithm 1 clips nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import sympy

from dpbounds.iv import Constants, Design, clip_norm
from simulators.engine import Experiment
from simulators.iv import Settings, two_stage_descent
from verify.checks import Event, Frequency, Inequality, Search, Symbolic
from verify.claims import Claim, Correction
from verify.domains import Real
from verify.iv.claims import tails
from verify.iv.claims.samples import isotropic_model

Sides = tuple[np.ndarray, np.ndarray]

# --- Lemma D.1 ---


def _clipped(n, tau, constant, *, union: bool) -> Sides:
    """tau and -log P(a gradient is clipped) for p = q = 1, z = +-1, e_2 = 0, eta = 1, at the largest T allowed.

    A gradient of Theta then has norm |Theta_t - Theta| = lambda_1 |xi_(t-1)|, t >= 1, and gamma_1 / lambda_1 = n
    sqrt(rho_1 / T) / 2 whatever c_0 is: half of C Q^3 by the condition n = C Q^3 sqrt(T / rho_1). With Q_nT in it T
    is the largest solution, found by iterating.
    """
    Q = 1 + np.sqrt(tau)
    T = (n / (constant * Q**3)) ** 2
    for _ in range(60 if union else 0):
        Q = 1 + np.sqrt(np.maximum(tau + np.log(n * T), 0.0))
        T = (n / (constant * Q**3)) ** 2
    missed = tails.maximum_tail(np.maximum(np.floor(T) - 1, 0.0), constant * Q**3 / 2)
    return tau, -np.log(np.maximum(missed, 1e-300))


def _thousand_records() -> Iterator[Mapping[str, Any]]:
    """n = 1000, tau = 1: T = 15625 steps at four standard deviations."""
    yield {"n": 1000.0, "tau": 1.0, "constant": 1.0}


def _unclipped(c0: float = 2.5) -> list[Event]:
    """Algorithm 1 at n = 5 Q_nT^3 sqrt(T / rho); tau = 3, Theta = [I; 0], beta a unit vector."""
    events = []
    for n, p, q, steps in ((300, 1, 1, 20), (400, 1, 1, 60), (300, 2, 3, 20)):
        design = Design(n=n, p=p, q=q, theta_norm=1.0, theta_least=1.0, tau=3.0)
        rho = steps * (5 * design.Q_union(steps) ** 3 / n) ** 2
        gamma = float(clip_norm(design, steps, Constants(clipping=c0)))
        settings = Settings(steps=steps, eta=1.0, alpha=2 / 3, gamma1=gamma, gamma2=gamma, rho1=rho, rho2=rho)
        model = isotropic_model(n, p, q, endogeneity=0.5)
        events.append(
            Event(
                label=f"n = {n}, p = {p}, q = {q}, T = {steps}, rho = {rho:.3g}, c_0 = {c0}",
                experiment=Experiment(algorithm=two_stage_descent, problem=model, settings=settings, block_trials=100),
                occurs=lambda arrays: (arrays["clipped_theta"] + arrays["clipped_beta"]).sum(axis=1) == 0,
                at_least=1 - math.exp(-3.0),
            )
        )
    return events


# --- (32), (35) ---

# n = CONDITION Q^3 sqrt(T / rho), the condition that the paper derives, p = q = 1, all sigmas 1, tau = 1.
CONDITION = 10


def _first_coefficients(m, n):
    """B and s of (32)."""
    union = 1 + m.sqrt(1 + m.log(n * (n / (8 * CONDITION)) ** 2))
    return m.power(union, 2), (1 + union) / (8 * CONDITION)


def _second_coefficients(m, n):
    """B and s of (35)."""
    log_T = 2 * m.log(n / (8 * CONDITION))
    return m.power(1 + m.sqrt(1 + m.log(n) + log_T), 2), (1 + m.sqrt(1 + log_T)) / (8 * CONDITION)


def _needed(coefficients):
    """B (1 + gamma s) at gamma = excess + B / (1 - B s)."""

    def smaller(m, n, excess):
        B, s = coefficients(m, n)
        return B * (1 + _chosen(coefficients)(m, n, excess) * s)

    return smaller


def _chosen(coefficients):
    """gamma >= B / (1 - B s), positive."""

    def larger(m, n, excess):
        B, s = coefficients(m, n)
        return excess + m.maximum(B / (1 - B * s), m.number(0))

    return larger


def _solution(sign: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """B s = 1 / (1 + w): gamma = B / (1 - B s) + u is enough, minus u is not; B s = 1 + w: nothing is."""
    B, w, u, gamma = sympy.symbols("B w u gamma", positive=True)
    s = 1 / ((1 + w) * B)
    enough = B / (1 - B * s) + u
    yield "gamma - B (1 + gamma s) at or above the solution", sign * (enough - B * (1 + enough * s))
    short = B / (1 - B * s) - u
    yield "B (1 + gamma s) - gamma below it", sign * (B * (1 + short * s) - short)
    s = (1 + w) / B
    yield "B (1 + gamma s) - gamma for B s > 1", sign * (B * (1 + gamma * s) - gamma)


def _solution_claim(claim_id: str, gamma: str, coefficients, forms: str) -> Claim:
    """(32) and (35) differ in B and s alone."""
    return Claim(
        id=claim_id,
        where=f"App. E.1, ({claim_id[-2:]})",
        kind="identity",
        statement=f"${gamma} >= B (1 + {gamma} s)$ holds for ${gamma} >= B \\/ (1 - B s)$, {forms}.",
        hypotheses=(
            f"$n >= C Q^3 sqrt(T\\/rho)$, the condition given with it; tried with $C = {CONDITION}$, $p = q = 1$, "
            "$tau = 1$. For every $C$ the product $B s$ passes 1 in the end, since it carries $log^(3\\/2) n$."
        ),
        checks=(
            Inequality(
                smaller=_needed(coefficients),
                larger=_chosen(coefficients),
                box={"n": Real(1e3, 1e12, "log"), "excess": Real(1e-3, 1e6, "log")},
                certify=False,
            ),
        ),
        correction=Correction(
            statement="if and only if, provided $B s < 1$, logarithms included; for $B s >= 1$ no clip norm will do.",
            checks=(Symbolic(nonnegative=_solution, impostors={"reversed": {"nonnegative": lambda: _solution(-1)}}),),
        ),
    )


# --- (33) ---


def _decomposed(sign: int = 1) -> Iterator[tuple[str, sympy.Matrix]]:
    """The gradient of beta at one record, q = 3, p = 2, in symbols."""
    now, true = (sympy.Matrix(3, 2, sympy.symbols(f"{name}1:7")) for name in ("t", "u"))
    z, e2 = sympy.Matrix(sympy.symbols("z1:4")), sympy.Matrix(sympy.symbols("e1:3"))
    beta_now, beta = sympy.Matrix(sympy.symbols("b1:3")), sympy.Matrix(sympy.symbols("c1:3"))
    e1 = sympy.Symbol("e")
    x = true.T * z + e2
    y = (beta.T * x)[0] + e1
    gradient = now.T * z * ((z.T * now * beta_now)[0] - y)
    parts = now.T * z * z.T * now * (beta_now - beta) + now.T * z * z.T * (now - true) * beta
    yield "g_i", gradient - parts + sign * now.T * z * ((beta.T * e2)[0] + e1)


CLAIMS = (
    Claim(
        id="iv/lem-d.1",
        where="Lemma D.1",
        kind="mc-rate",
        statement=(
            "If $gamma_1, gamma_2 gt.tilde Q_(n T)^2$, (3) and $n = Omega(Q^3 sqrt(T) \\/ sqrt(rho_min))$, Algorithm 1 "
            "clips no gradient with probability at least $1 - tilde(c) e^(-tau)$."
        ),
        hypotheses=(
            "Assumption 2; $tilde(c) = 1$. Tried on $p = q = 1$, $z = plus.minus 1$, $epsilon_2 = 0$, $eta = 1$, where "
            "$gamma_1 \\/ lambda_1$ is $C Q^3 \\/ 2$ whatever the clip norm while $T tilde n^2$ steps are drawn: for "
            "every $C$ a gradient is clipped almost surely as $n -> oo$. Compared: $tau$ and $-log$ of the probability "
            "that a gradient is clipped."
        ),
        checks=(
            Search(
                sides=lambda n, tau, constant: _clipped(n, tau, constant, union=False),
                box={"n": Real(100.0, 1e18, "log"), "tau": Real(0.5, 10.0), "constant": Real(0.5, 1.0)},
                extremal=_thousand_records,
                vectorised=True,
            ),
        ),
        correction=Correction(
            statement=(
                "$n >= C Q_(n T)^3 sqrt(T\\/rho_min)$ and $gamma_1 = gamma_2 = c_0 Q_(n T)^2$, with $c_0$ large enough "
                "for $Theta$ and $beta$ and $C$ for $c_0$ ($c_0 = 2.5$, $C = 5$ for $Theta = [I; 0]$, $norm(beta) = "
                "1$)."
            ),
            checks=(
                Search(
                    sides=lambda n, tau, constant: _clipped(n, tau, constant, union=True),
                    box={"n": Real(100.0, 1e18, "log"), "tau": Real(0.5, 10.0), "constant": Real(0.7, 10.0)},
                    vectorised=True,
                    impostors={
                        "as printed": {
                            "sides": lambda n, tau, constant: _clipped(n, tau, constant, union=False),
                        },
                    },
                ),
                Frequency(
                    events=_unclipped,
                    trials={"quick": 800, "full": 8000},
                    impostors={"c_0 = 1": {"events": lambda: _unclipped(1.0)}},
                ),
            ),
        ),
    ),
    _solution_claim(
        "iv/eq-32",
        "gamma_1",
        _first_coefficients,
        "$B = sigma_z^2 sigma_2 Q_(n T)^2$, $s = 1/n sqrt(T\\/rho_1) (sqrt(p) + Q_(n T))$",
    ),
    Claim(
        id="iv/eq-33",
        where="App. E.1, (33)",
        kind="identity",
        statement=(
            "$g_i^beta (t) = Theta^((t) top) z_i z_i^top Theta^((t)) (beta^((t)) - beta) + Theta^((t) top) z_i z_i^top "
            "(Theta^((t)) - Theta) beta - Theta^((t) top) z_i (beta^top epsilon_(2 i) + epsilon_(1 i))$."
        ),
        checks=(
            Symbolic(residuals=_decomposed, impostors={"sign of the errors": {"residuals": lambda: _decomposed(-1)}}),
        ),
    ),
    _solution_claim(
        "iv/eq-35",
        "gamma_2",
        _second_coefficients,
        "$B = sigma_z^2 Q_(n T)^2$, $s = sqrt(T) / (n sqrt(rho_2)) (sqrt(p) + sqrt(tau + log T))$",
    ),
)
