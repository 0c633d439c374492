"""Appendix F.1 and F.2: linear time-invariant systems and the covariance of SGD."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Search, Symbolic
from verify.checks.domains import Real
from verify.checks.impostors import Times
from verify.papers.ftrl.tools.input_laws import PLANAR, planar
from verify.papers.ftrl.tools.second_moments import Systems
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]


# --- Theorem F.2 ---


def _white_input(rng: np.random.Generator, *, conjugate: bool = True) -> Iterator[Fact]:
    """Random stable state-space systems: covariance from the Lyapunov equation, integral on 4096 nodes, sum of
    impulse responses.
    """
    from scipy.linalg import solve_discrete_lyapunov

    for states, inputs, outputs in ((1, 1, 1), (3, 2, 2), (5, 3, 2)):
        A = rng.standard_normal((states, states))
        A *= 0.95 / np.abs(np.linalg.eigvals(A)).max()
        B, C = rng.standard_normal((states, inputs)), rng.standard_normal((outputs, states))
        root = rng.standard_normal((inputs, inputs))
        Sigma = root @ root.T
        # x_{t+1} = A x_t + B u_t, y_t = C x_t
        expected = C @ solve_discrete_lyapunov(A, B @ Sigma @ B.T) @ C.T
        z = np.exp(1j * 2 * np.pi * np.arange(4096) / 4096)[:, None, None]
        transfer = C @ np.linalg.solve(z * np.eye(states) - A, np.broadcast_to(B + 0j, (4096, *B.shape)))
        adjoint = transfer.conj() if conjugate else transfer
        integral = np.real(np.mean(transfer @ Sigma @ adjoint.transpose(0, 2, 1), axis=0))
        size = f"{states} states, {inputs} inputs, {outputs} outputs"
        yield Fact(f"integral, {size}", integral, expected, 1e-9)
        responses = np.array([C @ np.linalg.matrix_power(A, k) @ B for k in range(800)])
        summed = np.einsum("kij,jl,kml->im", responses, Sigma, responses)
        yield Fact(f"sum over impulse responses, {size}", summed, expected, 1e-9)


THM_F_2 = Claim(
    id="ftrl/thm-f.2",
    where="Theorem F.2",
    page=54,
    kind="mc-equality",
    statement="$EE[y_t times.o y_t] = 1/(2 pi) integral G(omega) Sigma G(omega)^* dif omega$.",
    hypotheses="Asymptotically stable LTI system, white input of covariance $Sigma$.",
    checks=(
        Agreement(
            facts=_white_input,
            impostors={
                "transpose in place of adjoint": {"facts": {"conjugate": False}},
                "1e-8 off": {"facts": Times(1 + 1e-8)},
            },
        ),
    ),
)

# --- Theorem F.3 ---


def _stationary_variance(share, factor: float = 1.0, **law) -> Sides:
    """Largest eigenvalue of lim E[delta delta^T] for zeta of covariance H (sigma = 1), against the bound; eta = share /
    R^2.
    """
    laws = planar(**law)
    eta, none = share / laws.r_squared(), np.zeros_like(share)
    S = Systems(laws, eta, none[:, None], none, none + 1.0).second_moments()
    return np.linalg.eigvalsh(S)[:, -1], factor * eta / (1 - share)


def _induction(factor: str = "1") -> Iterator[tuple[str, sympy.Expr]]:
    """E[delta delta^T] <= c I at t gives it at t + 1: the excess is eta H (c (2 - eta R^2) - eta sigma^2) at least.

    E[Q c I Q] + eta^2 sigma^2 H = c (I - 2 eta H + eta^2 E[||x||^2 x x^T]) + eta^2 sigma^2 H with the fourth moment at
    most R^2 H; eta R^2 = 1/(1 + t).
    """
    t, eta, variance = sympy.symbols("t eta variance", positive=True)
    product = 1 / (1 + t)
    c = sympy.Rational(factor) * eta * variance / (1 - product)
    yield "c (2 - eta R^2) - eta sigma^2 >= 0", c * (2 - product) - eta * variance
    yield "c >= 0 (t = 0)", c


THM_F_3 = Claim(
    id="ftrl/thm-f.3",
    where="Theorem F.3",
    page=55,
    kind="inequality",
    statement=(
        "$delta_(t+1) = (I - eta x_t times.o x_t) delta_t + eta zeta_t$ from $delta_0 = 0$: $EE[delta_t times.o "
        "delta_t] prec.eq (eta sigma^2)/(1 - eta R^2) I$."
    ),
    hypotheses=(
        "$EE[zeta_t times.o zeta_t] prec.eq sigma^2 H$, $eta R^2 < 1$, the pairs $(x_t, zeta_t)$ independent over $t$."
    ),
    remark="The same proof gives $2 - eta R^2$ in the denominator, which is attained in $d = 1$.",
    checks=(
        Symbolic(nonnegative=_induction, impostors={"a third": {"nonnegative": {"factor": "1/3"}}}),
        Search(
            sides=_stationary_variance,
            box={**PLANAR, "share": Real(1e-3, 0.999)},
            vectorised=True,
            impostors={"0.45 of the bound": {"sides": Times(1, 0.45)}},
            role="control",
        ),
    ),
    derivation=Derivation(
        text=(
            "$EE delta_t = 0$ and $delta_t$ is independent of $(x_t, zeta_t)$, so that $EE delta_(t + 1) delta_(t + "
            "1)^top = EE Q delta_t delta_t^top Q + eta^2 EE zeta_t zeta_t^top$ with $Q = I - eta x_t x_t^top$. If $EE "
            "delta_t delta_t^top prec.eq c I$, as at $t = 0$, this is at most $c EE Q^2 + eta^2 sigma^2 H$ with $EE "
            "Q^2 prec.eq I - 2 eta H + eta^2 R^2 H$, hence at most $c I$ for $c = eta sigma^2\\/(1 - eta R^2)$ by the "
            "check."
        ),
        lemmas=("independence", "Loewner monotony", "induction"),
    ),
)
