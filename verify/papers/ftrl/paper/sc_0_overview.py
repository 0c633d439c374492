"""The head of Appendix C: the error of any correlation, (20) and (21)."""

from __future__ import annotations

import numpy as np

from verify.checks import Search
from verify.checks.domains import Real
from verify.papers.ftrl.tools.input_laws import PLANAR, planar
from verify.papers.ftrl.tools.regression import WEIGHTS, h, minimum_phase, spectrum
from verify.papers.ftrl.tools.second_moments import Systems
from verify.statements.claims import Claim

# 1 / (LOWER pi) is the constant below of the second term.
LOWER = 16


def _two_sided_20(
    second: np.ndarray,
    atoms: np.ndarray,
    weights: np.ndarray,
    reflection: np.ndarray,
    share: np.ndarray,
    residual: np.ndarray,
    lower: float = 1.0,
) -> tuple[np.ndarray, float]:
    """F_inf by brute force between eta sigma^2 Tr H / 4 + 2 eta^2 N int |B|^2 h / (LOWER pi) and 4/(2 - eta R^2) times
    it.

    N = G^2 gamma_inf^2 / (2 rho); the integral of |B|^2 h by quadrature.
    """
    laws = planar(second, atoms, weights)
    eta, beta = share / laws.r_squared(), minimum_phase(reflection)
    noise = (1.0 - residual) / np.prod(1.0 - reflection**2, axis=1)
    exact = 0.5 * Systems(laws, eta, beta, noise, residual).doubled_suboptimality()
    residuals = 0.25 * eta * residual * laws.eigenvalues.sum(axis=1)
    low = residuals + eta**2 * noise * ((spectrum(beta) * h(laws.eigenvalues, eta)) @ WEIGHTS) / (LOWER / 2 * np.pi)
    return np.maximum(lower * low / exact, exact * (2.0 - share) / (4.0 * low)), 1.0


EQ_20_21 = Claim(
    id="ftrl/eq-20-21",
    where="App. C, (20), (21)",
    page=17,
    equation="(20)",
    kind="mc-rate",
    statement=(
        '$F_oo (B) = Theta(eta sigma_s^2 op("Tr")[H] + eta^2 G^2 rho^(-1) gamma_oo^2 (B) integral abs(B)^2 h dif '
        "omega)$ with $h(omega) = sum_j lambda_j \\/ abs(1 - e^(i omega) - eta lambda_j)^2$."
    ),
    hypotheses="$eta R^2 < 1$, any inputs of Assumption C.2.",
    remark=(
        "With the factor $1/2$ of (8) in $F$ the constants are $1/4$ and $1\\/({lower} pi)$ below, $4\\/(2 - eta R^2)$ "
        "times these above."
    ),
    checks=(
        Search(
            sides=_two_sided_20,
            box={
                **PLANAR,
                "weights": (Real(0.05, 1.0), 5),
                "reflection": (Real(-0.95, 0.95), 3),
                "share": Real(1e-3, 0.9999),
                "residual": Real(0.0, 1.0),
            },
            vectorised=True,
            impostors={"lower constants doubled": {"sides": {"lower": 2.0}}},
        ),
    ),
    given={"lower": LOWER},
)
