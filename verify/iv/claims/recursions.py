"""Appendix C, (11) to (15): the recursions of both errors, the spectrum of H_t, the contraction of the second stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy

from verify.checks import Agreement, Fact, Search, Symbolic
from verify.claims import Claim
from verify.domains import Real
from verify.iv.claims import rationals, reference
from verify.iv.claims.rationals import TwoStage

Sides = tuple[np.ndarray, np.ndarray]

# --- (11), (12): exact runs ---

ETA: Any = Fraction(1, 7)
ALPHA: Any = Fraction(1, 11)
Noise = list[tuple[np.ndarray, np.ndarray]]


def _runs(rng: np.random.Generator) -> Iterator[tuple[str, TwoStage, Noise, list[tuple[np.ndarray, np.ndarray]]]]:
    """Five steps of Algorithm 1 in fractions without clipping, for q > p and q = p: estimates, noise, iterates."""
    fifths = partial(rationals.rationals, denominator=5)
    for q, p in ((3, 2), (2, 2), (3, 1)):
        records = reference.rational_records(rng, 7, q, p)
        noise = [(fifths(rng, q, p), fifths(rng, p)) for _ in range(5)]
        path = reference.descent(records, eta=ETA, alpha=ALPHA, noise=noise)
        yield f"q = {q}, p = {p}", TwoStage(records), noise, path


def _first_stage(rng: np.random.Generator, lag: int = 0) -> Iterator[Fact]:
    """e_Theta^(t+1) against M^(t+1) e_Theta^(0) + eta sum_i M^(t-i) Xi^(i)."""
    for label, estimates, noise, path in _runs(rng):
        M, target = rationals.identity(len(estimates.A)) - ETA * estimates.A, estimates.theta_hat
        for t in range(5):
            added = [ETA * rationals.power(M, t - i + lag) @ Xi for i, (Xi, _) in enumerate(noise[: t + 1])]
            stated = rationals.power(M, t + 1) @ (path[0][0] - target) + np.sum(added, axis=0)
            yield Fact(f"{label}, t = {t}", path[t + 1][0] - target, stated, 0)


def _second_stage(rng: np.random.Generator, residual: int = 1) -> Iterator[Fact]:
    """e_beta^(t+1) against the right-hand side of (12)."""
    for label, estimates, noise, path in _runs(rng):
        A, target = estimates.A, estimates.beta_hat
        projected = estimates.records.Z.T @ estimates.r / estimates.n
        for t, ((theta, beta), (_, nu)) in enumerate(zip(path, noise, strict=False)):
            L = rationals.identity(len(beta)) - ALPHA * theta.T @ A @ theta
            driven = theta.T @ A @ (theta - estimates.theta_hat) @ target + residual * theta.T @ projected
            yield Fact(
                f"{label}, t = {t}", path[t + 1][1] - target, L @ (beta - target) - ALPHA * driven + ALPHA * nu, 0
            )


# --- H_t beside H-hat ---


def _norm(matrices: np.ndarray) -> np.ndarray:
    return np.linalg.norm(matrices, ord=2, axis=(1, 2))


def _shaped(theta: np.ndarray, root: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """theta_hat (3, 2), A = R'R (3, 3), e_Theta (3, 2), with the batch in front."""
    R = root.reshape(-1, 3, 3)
    return theta.reshape(-1, 3, 2), np.swapaxes(R, 1, 2) @ R, error.reshape(-1, 3, 2)


def _hessian(A: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.swapaxes(theta, 1, 2) @ A @ theta


def _hessian_change(theta, root, error, factor: float = 2.0) -> Sides:
    """||H_t - H-hat|| and (2 ||theta_hat|| + eps) ||A|| eps with eps = ||e_Theta||."""
    hat, A, e = _shaped(theta, root, error)
    eps = _norm(e)
    return _norm(_hessian(A, hat + e) - _hessian(A, hat)), (factor * _norm(hat) + eps) * _norm(A) * eps


MATRICES = {"theta": (Real(-1.0, 1.0), 6), "root": (Real(-1.0, 1.0), 9), "error": (Real(-1.0, 1.0), 6)}


def _aligned() -> Iterator[Mapping[str, Any]]:
    """e_Theta along theta_hat and against it; theta_hat of equal singular values or not; A = I."""
    root = list(np.eye(3).ravel())
    for second in (1.0, 0.3):
        theta = [1.0, 0.0, 0.0, second, 0.0, 0.0]
        for share in (0.5, -0.5):
            yield {"theta": theta, "root": root, "error": [share * entry for entry in theta]}


# --- (13) ---


def _tolerance(factor: int = 2) -> Iterator[tuple[str, sympy.Expr]]:
    """Both conditions in the form eps <= ...: the differences have the same sign."""
    eps, norm, lower, delta = sympy.symbols("epsilon t g delta", positive=True)
    room = lower / (2 * (1 + delta) ** 2)
    root = sympy.sqrt(norm**2 + room)
    first = eps * (factor * norm + eps) - room
    yield (
        "condition times (2t + eps) equals ((eps + t) - root)((eps + t) + root)",
        first - ((eps + norm - root) * (eps + norm + root)),
    )


# --- (14) ---


def _contracting(theta, root, error, reach, slack, alpha, room: float = 1.0) -> dict[str, np.ndarray]:
    """H_t for ||e_Theta|| = `reach` eps-bar, gammas `slack` times looser than the spectrum of H-hat."""
    hat, A, e = _shaped(theta, root, error)
    h = np.linalg.eigvalsh(_hessian(A, hat))
    lower, upper = h[:, 0].clip(0) / (1 + slack[:, 0]), h[:, -1] * (1 + slack[:, 1])
    square = _norm(A) * (1 + slack[:, 2])
    norm = _norm(hat)
    eps = room * lower / (2 * square) / (np.sqrt(norm**2 + room * lower / (2 * square)) + norm)
    moved = hat + e * (reach * eps / _norm(e).clip(1e-300))[:, None, None]
    now = np.linalg.eigvalsh(_hessian(A, moved))
    step = alpha * 4 / (2 * upper + lower)
    return {
        "least": now[:, 0],
        "largest": now[:, -1],
        "lower": lower / 2,
        "upper": upper + lower / 2,
        "factor": np.abs(1 - step[:, None] * now).max(axis=1),
        "kappa": np.maximum(np.abs(1 - step * lower / 2), np.abs(1 - step * (upper + lower / 2))),
    }


def _compared(smaller: str, larger: str, room: float = 1.0, **parameters: np.ndarray) -> Sides:
    found = _contracting(**parameters, room=room)
    return found[smaller], found[larger]


def _spectra(smaller: str, larger: str) -> Search:
    """One of the three inequalities of (14); the impostor has the whole of gamma-lower for room."""
    rest = {"reach": 1.0, "slack": [0.0, 0.0, 0.0], "alpha": 1.0}
    return Search(
        sides=lambda **parameters: _compared(smaller, larger, **parameters),
        box={**MATRICES, "reach": Real(0.0, 1.0), "slack": (Real(0.0, 2.0), 3), "alpha": Real(1e-3, 1.0, "log")},
        extremal=lambda: ({**point, **rest} for point in _aligned()),
        vectorised=True,
        impostors={
            "twice the room": {"sides": lambda **parameters: _compared(smaller, larger, room=2.0, **parameters)},
        },
    )


# --- (15) ---


def _unrolled(theta, root, errors, beta, residual, noise, start, alpha, geometric: bool = True) -> Sides:
    """Three steps of (12) for p = 1, q = 2 and e_Theta within eps-bar, against (15); ||nu|| the largest of three."""
    R = root.reshape(-1, 2, 2)
    A = np.swapaxes(R, 1, 2) @ R + 0.01 * np.eye(2)
    norm, a = np.linalg.norm(theta, axis=1), _norm(A)
    h = np.einsum("ni,nij,nj->n", theta, A, theta)
    eps = h / (2 * a) / (np.sqrt(norm**2 + h / (2 * a)) + norm)
    step = alpha * 4 / (3 * h)
    kappa = np.maximum(np.abs(1 - step * h / 2), np.abs(1 - step * 1.5 * h))
    e, first, second = start, 0.0, 0.0
    for k in range(3):
        error = errors.reshape(-1, 3, 2)[:, k]
        error = error * (eps / np.maximum(np.linalg.norm(error, axis=1), 1.0))[:, None]
        now = theta + error
        L = 1 - step * np.einsum("ni,nij,nj->n", now, A, now)
        driven = np.einsum("ni,nij,nj->n", now, A, error) * beta + (now * residual).sum(axis=1)
        e = L * e - step * driven + step * noise[:, k]
        weight, size = kappa ** (2 - k), np.linalg.norm(now, axis=1)
        first = first + weight * size * np.linalg.norm(error, axis=1)
        second = second + weight * size
    last = np.abs(noise).max(axis=1) * step / ((1 - kappa) if geometric else 1.0)
    stated = kappa**3 * np.abs(start) + step * a * np.abs(beta) * first
    return np.abs(e), stated + step * np.linalg.norm(residual, axis=1) * second + last


def _noise_alone() -> Iterator[Mapping[str, Any]]:
    """Equal noise three times at a small step size; and one term of (15) at a time."""
    none = {"theta": [1.0, 0.0], "root": [1.0, 0, 0, 1.0], "errors": [0.0] * 6, "beta": 0.0, "residual": [0.0, 0.0]}
    none |= {"noise": [0.0] * 3, "start": 0.0, "alpha": 0.01}
    yield {**none, "noise": [1.0, 1.0, 1.0]}
    yield {**none, "start": 1.0, "alpha": 0.999, "errors": [-1.0, 0.0] * 3}
    yield {**none, "beta": 1.0, "errors": [1.0, 0.0] * 3}
    yield {**none, "residual": [1.0, 0.0], "errors": [1.0, 0.0] * 3}


PATHS = {
    "theta": (Real(-1.0, 1.0), 2),
    "root": (Real(-1.0, 1.0), 4),
    "errors": (Real(-1.0, 1.0), 6),
    "beta": Real(-2.0, 2.0),
    "residual": (Real(-2.0, 2.0), 2),
    "noise": (Real(-2.0, 2.0), 3),
    "start": Real(-2.0, 2.0),
    "alpha": Real(1e-3, 0.999, "log"),
}

CLAIMS = (
    Claim(
        id="iv/eq-11",
        where="App. C, (11)",
        kind="identity",
        statement="$e_Theta^((t+1)) = M^(t+1) e_Theta^((0)) + N^((t))$, $N^((t)) = eta sum_(i <= t) M^(t-i) Xi^((i))$.",
        hypotheses="No clipping.",
        checks=(
            Agreement(
                facts=_first_stage, impostors={"noise a step older": {"facts": lambda rng: _first_stage(rng, 1)}}
            ),
        ),
    ),
    Claim(
        id="iv/eq-12",
        where="App. C, (12)",
        kind="identity",
        statement=(
            "$e_beta^((t+1)) = L_t e_beta^((t)) - alpha Theta^((t) top) A e_Theta^((t)) hat(beta) - alpha/n Theta^((t) "
            "top) Z^top r + alpha nu^((t))$."
        ),
        hypotheses="No clipping.",
        checks=(
            Agreement(
                facts=_second_stage,
                impostors={
                    "sign of the residual": {"facts": lambda rng: _second_stage(rng, -1)},
                    "no residual": {"facts": lambda rng: _second_stage(rng, 0)},
                },
            ),
        ),
    ),
    Claim(
        id="iv/eq-h",
        where="App. C, below (12)",
        kind="inequality",
        statement=(
            "If $norm(e_Theta^((t))) <= epsilon$ then $norm(H_t - hat(H)) <= (2 norm(hat(Theta)) + epsilon) norm(A) "
            "epsilon$."
        ),
        hypotheses="Attained for $e_Theta$ along $hat(Theta)$, $A = I$.",
        checks=(
            Search(
                sides=_hessian_change,
                box=MATRICES,
                extremal=_aligned,
                vectorised=True,
                impostors={
                    "factor 1.99": {"sides": lambda **parameters: _hessian_change(**parameters, factor=1.99)},
                },
            ),
        ),
    ),
    Claim(
        id="iv/eq-13",
        where="App. C, (13)",
        kind="identity",
        statement=(
            "$epsilon <= underline(gamma) / (2 (2 norm(hat(Theta)) + epsilon) (1 + delta)^2)$ if and only if $epsilon "
            "<= sqrt(norm(hat(Theta))^2 + underline(gamma) / (2 (1 + delta)^2)) - norm(hat(Theta))$."
        ),
        hypotheses="All arguments positive.",
        checks=(
            Symbolic(
                residuals=_tolerance, impostors={"one norm in place of two": {"residuals": lambda: _tolerance(1)}}
            ),
        ),
    ),
    Claim(
        id="iv/eq-14",
        where="App. C, (14)",
        kind="inequality",
        statement=(
            "Under (13) $lambda_min (H_t) >= underline(gamma)\\/2$, $lambda_max (H_t) <= overline(gamma) + "
            "underline(gamma)\\/2$, and for $alpha$ in (3) $norm(L_t) <= kappa_beta < 1$."
        ),
        hypotheses=(
            "$underline(gamma) <= lambda(hat(H)) <= overline(gamma)$, $norm(A) <= (1 + delta)^2$; $kappa_beta < 1$ by "
            "iv/eq-3. Searched for $q = 3$, $p = 2$."
        ),
        checks=(_spectra("lower", "least"), _spectra("largest", "upper"), _spectra("factor", "kappa")),
    ),
    Claim(
        id="iv/eq-15",
        where="App. C, (15)",
        kind="inequality",
        statement=(
            "$norm(e_beta^((T)))$ is at most $kappa_beta^(T - T_0) norm(e_beta^((T_0)))$ plus the discounted sums of "
            "$alpha (1 + delta)^2 norm(hat(beta)) norm(Theta^((k))) norm(e_Theta^((k)))$ and of $alpha norm(Z^top r) "
            "norm(Theta^((k))) \\/ n$, plus $alpha norm(nu) \\/ (1 - kappa_beta)$."
        ),
        hypotheses=(
            "(14) for $T_0 <= t < T$. The $nu$ without index is read as the one of largest norm. Three steps, $p = 1$, "
            "$q = 2$, any path of $e_Theta$ within (13)."
        ),
        checks=(
            Search(
                sides=_unrolled,
                box=PATHS,
                extremal=_noise_alone,
                vectorised=True,
                impostors={
                    "one nu, not the geometric sum": {
                        "sides": lambda **parameters: _unrolled(**parameters, geometric=False),
                    },
                },
            ),
        ),
    ),
)
