"""Footnote 2: what the budgets of Section 4 are as epsilon at delta = 1e-5."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dpbounds.iv import epsilons
from verify.checks import Agreement, Fact
from verify.statements.claims import Claim, Correction, Fault

BUDGETS = {"small": 0.1, "one": 1.0, "large": 10.0}


def _footnote(rng: np.random.Generator, last: float) -> Iterator[Fact]:
    """With what the formula gives at the last of the budgets."""
    for (name, rho), printed in zip(BUDGETS.items(), (2.25, 7.79, last), strict=True):
        epsilon = float(epsilons(rho, 1e-5).printed)
        label = f"epsilon at rho = {rho:g}, to two decimals"
        yield Fact(label, round(epsilon, 2), printed, 1e-9, {"epsilon": epsilon, f"formula_{name}": epsilon})


def _sharp_values(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Exact epsilon of Gaussian mechanisms: delta(epsilon) by quadrature is 1e-5."""
    for name, rho in BUDGETS.items():
        mu, epsilon = math.sqrt(2 * rho), factor * float(epsilons(rho, 1e-5).gaussian)
        x = np.linspace(-15, 20 + mu, 400_001)
        gain = np.exp(-((x - mu) ** 2) / 2) - np.exp(epsilon - x**2 / 2)
        delta = np.sum(np.maximum(gain, 0)) * (x[1] - x[0]) / math.sqrt(2 * math.pi)
        label = f"delta of a Gaussian mechanism with rho = {rho:g} at epsilon = {epsilon:.4f}"
        yield Fact(label, delta, 1e-5, 1e-6, {f"exact_{name}": epsilon})


FN_2 = Claim(
    id="iv/fn-2",
    where="footnote 2",
    page=8,
    kind="number",
    statement=(
        "By $epsilon = rho + 2 sqrt(rho log(1 \\/ delta))$ at $delta = 10^(-5)$: $rho = 0.1$ gives $epsilon = 2.25$, "
        "$rho = 1$ gives $7.79$, $rho = 10$ gives $31.47$."
    ),
    checks=(Agreement(facts=partial(_footnote, last=31.47), closed=True),),
    fault=Fault(
        severity="slip",
        touches="text",
        finding=(
            "Footnote 2 prints $epsilon = 31.47$ for $rho = 10$; its formula gives ${epsilon:6}$, that is ${observed}$."
        ),
        consequence="Nothing else changes; the other two values are right.",
    ),
    correction=Correction(
        statement=(
            (
                r"By $epsilon = rho + 2 sqrt(rho log(1 \/ delta))$ at $delta = 10^(-5)$: $rho = 0.1$ gives $epsilon = "
                "2.25$, $rho = 1$ gives $7.79$, $rho = 10$ gives ${formula_large:4}$."
            ),
            (
                "The release of Algorithm 1 itself has, exactly, $epsilon = {exact_small:3}, {exact_one:3}, "
                "{exact_large:4}$ at these $rho$."
            ),
        ),
        ground="The formula evaluated; the exact values by quadrature of the Gaussian mechanism with the same $rho$.",
        checks=(
            Agreement(
                decides="a", facts=partial(_footnote, last=31.46), impostors={"31.45": {"facts": {"last": 31.45}}}
            ),
            Agreement(decides="b", facts=_sharp_values, impostors={"1 % off": {"facts": {"factor": 1.01}}}),
        ),
    ),
)
