"""Appendix C, (13) to (15): the spectrum of H_t, and the contraction of the second stage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy
from scipy.optimize import brentq

from dpbounds.iv import Design, lemmas, spectrum
from verify.checks import Agreement, Fact, Search, Symbolic, Times
from verify.checks.domains import Real
from verify.papers.iv.paper.sc_1_recursions import one_beta_step
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

Sides = tuple[np.ndarray, np.ndarray]

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


def _hessians(crossed: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """H_t - H-hat, matrices of any size as letters that do not commute; a name and the same with t: a transpose."""
    hat, hat_t, e, e_t, A = sympy.symbols("theta theta_t e e_t A", commutative=False)
    change = (hat_t + e_t) * A * (hat + e) - hat_t * A * hat
    yield "H_t - H-hat", change - (hat_t * A * e + crossed * e_t * A * hat + e_t * A * e)


HESSIANS = Symbolic(residuals=_hessians, impostors={"one cross term": {"residuals": {"crossed": 0}}})

EQ_H = Claim(
    id="iv/eq-h",
    where="App. C, below (12)",
    page=16,
    kind="inequality",
    statement=(
        "If $norm(e_Theta^((t))) <= epsilon$ then $norm(H_t - hat(H)) <= (2 norm(hat(Theta)) + epsilon) norm(A) "
        "epsilon$."
    ),
    remark="Attained for $e_Theta$ along $hat(Theta)$, $A = I$.",
    checks=(
        HESSIANS,
        Search(
            sides=_hessian_change,
            role="control",
            box=MATRICES,
            extremal=_aligned,
            vectorised=True,
            impostors={"factor 1.99": {"sides": {"factor": 1.99}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "$H_t - hat(H) = hat(Theta)^top A e_Theta + e_Theta^top A hat(Theta) + e_Theta^top A e_Theta$ is proved "
            "for matrices of any size; the norms of the three are at most $norm(hat(Theta)) norm(A) epsilon$, the "
            "same, and $norm(A) epsilon^2$."
        ),
        lemmas=("triangle inequality", "submultiplicativity"),
    ),
)

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


def _largest_error(rng: np.random.Generator) -> Iterator[Fact]:
    """epsilon-bar as the library has it: the root of the condition, for numbers and for a design."""
    for _ in range(20):
        norm, room = rng.uniform(0.1, 5.0), 10.0 ** rng.uniform(-6.0, 2.0)
        root = brentq(lambda eps, t=norm, g=room: (2 * t + eps) * eps - g, 0.0, 1.0 + room, xtol=1e-22)
        yield Fact(f"norm {norm:.3g}, room {room:.3g}", root, lemmas.tolerance(norm, room), 1e-12)
        delta = rng.uniform(0.0, 0.9)
        bounds = spectrum(Design(n=100, p=1, q=1, theta_norm=1.0, theta_least=1.0))
        bounds = bounds._replace(delta=delta, lower=2 * room * (1 + delta) ** 2)
        yield Fact("of a design", root, float(lemmas.first_stage_tolerance(bounds, norm)), 1e-12)


TOLERANCE = Symbolic(residuals=_tolerance, impostors={"one norm in place of two": {"residuals": {"factor": 1}}})

EQ_13 = Claim(
    id="iv/eq-13",
    where="App. C, (13)",
    page=17,
    equation="(13)",
    kind="identity",
    statement=(
        "$epsilon <= underline(gamma) / (2 (2 norm(hat(Theta)) + epsilon) (1 + delta)^2)$ if and only if $epsilon "
        "<= sqrt(norm(hat(Theta))^2 + underline(gamma) / (2 (1 + delta)^2)) - norm(hat(Theta))$."
    ),
    hypotheses="All arguments positive.",
    checks=(
        TOLERANCE,
        Agreement(facts=_largest_error, role="control", impostors={"a millionth less": {"facts": Times(0.999999)}}),
    ),
    derivation=Derivation(
        text=(
            "The first inequality is $epsilon (2 norm(hat(Theta)) + epsilon) - underline(gamma) \\/ (2 (1 + delta)^2) "
            "<= 0$, of which the left side is proved to be $(epsilon + norm(hat(Theta)) - w) (epsilon + "
            "norm(hat(Theta)) + w)$, $w$ the root in the second; the second factor is positive."
        ),
    ),
)

# --- (14) ---


def _contracting(theta, root, error, reach, slack, alpha, room: float = 1.0) -> dict[str, np.ndarray]:
    """H_t for ||e_Theta|| = `reach` eps-bar, gammas `slack` times looser than the spectrum of H-hat."""
    hat, A, e = _shaped(theta, root, error)
    h = np.linalg.eigvalsh(_hessian(A, hat))
    lower, upper = h[:, 0].clip(0) / (1 + slack[:, 0]), h[:, -1] * (1 + slack[:, 1])
    square = _norm(A) * (1 + slack[:, 2])
    eps = lemmas.tolerance(_norm(hat), room * lower / (2 * square))
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
        sides=partial(_compared, smaller, larger),
        box={**MATRICES, "reach": Real(0.0, 1.0), "slack": (Real(0.0, 2.0), 3), "alpha": Real(1e-3, 1.0, "log")},
        extremal=lambda: ({**point, **rest} for point in _aligned()),
        vectorised=True,
        impostors={"twice the room": {"sides": {"room": 2.0}}},
    )


def _contraction(lower_weight: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """alpha h of (3) is between 0 and 2 at both ends; gamma-lower = g, gamma-upper = g + w or g, alpha the limit over
    1 + s.
    """
    g, w, s = sympy.symbols("g w s", positive=True)
    for upper in (g + w, g):
        alpha = 4 / (2 * upper + lower_weight * g) / (1 + s)
        for end in (g / 2, upper + g / 2):
            yield f"alpha ({end})", alpha * end
            yield f"2 - alpha ({end})", 2 - alpha * end


EQ_14 = Claim(
    id="iv/eq-14",
    where="App. C, (14)",
    page=17,
    equation="(14)",
    kind="inequality",
    statement=(
        "Under (13) $lambda_min (H_t) >= underline(gamma)\\/2$, $lambda_max (H_t) <= overline(gamma) + "
        "underline(gamma)\\/2$, and for $alpha$ in (3) $norm(L_t) <= kappa_beta < 1$."
    ),
    hypotheses="$underline(gamma) <= lambda(hat(H)) <= overline(gamma)$, $norm(A) <= (1 + delta)^2$.",
    setting="$q = 3$, $p = 2$.",
    checks=(
        HESSIANS,
        TOLERANCE,
        Symbolic(
            nonnegative=_contraction, impostors={"4 over twice the upper end": {"nonnegative": {"lower_weight": 0}}}
        ),
        *(_spectra(*pair).as_control() for pair in (("lower", "least"), ("largest", "upper"), ("factor", "kappa"))),
    ),
    derivation=Derivation(
        text=(
            "By the proof of iv/eq-h $norm(H_t - hat(H)) <= (2 norm(hat(Theta)) + epsilon) (1 + delta)^2 epsilon$, at "
            "most $underline(gamma)\\/2$ under either form of (13), so that the spectrum of $H_t$ moves by no more. "
            "$norm(L_t)$ is the largest $abs(1 - alpha h)$ over it, a convex function of $h$, hence at most "
            "$kappa_beta$, its larger value at the two ends; there $0 < alpha h < 2$, quotients of polynomials with "
            "nonnegative coefficients, not 0."
        ),
        lemmas=("triangle inequality", "submultiplicativity", "Weyl", "spectral theorem", "concavity"),
    ),
)

# --- (15) ---

LENGTH = 5


def _one_more(rng: np.random.Generator, forgotten: int = 0) -> Iterator[Fact]:
    """(15) for T + 1 steps is kappa_beta times (15) for T, plus what (12) adds in a step: in fractions.

    With the inequality for one step this is the induction that proves (15) for every T.
    """

    def positive(*shape: int) -> np.ndarray:
        numerators = rng.integers(1, 9, size=shape)
        return np.vectorize(lambda k: Fraction(int(k), 7), otypes=[object])(numerators)

    for steps in (0, 1, 2, 7):
        kappa, (alpha, delta, size, residual, noise, start) = Fraction(5, 9), positive(6)
        norms, errors = positive(steps + 1), positive(steps + 1)
        common = {"kappa_beta": kappa, "alpha": alpha, "delta": delta, "beta_hat_norm": size}
        common |= {"residual": residual, "noise": noise, "start": start}
        shorter, longer = (
            lemmas.second_stage_bound(**common, theta_norms=list(norms[:end]), first_stage_errors=list(errors[:end]))
            for end in (steps, steps + 1)
        )
        added = alpha * (norms[steps] * ((1 + delta) ** 2 * size * errors[steps] + residual) + noise)
        yield Fact(f"{steps + 1} steps", longer - kappa ** (1 + forgotten) * shorter, added, 0)
        if steps == 0:
            yield Fact("no step", shorter, start + alpha * noise / (1 - kappa), 0)


def _unrolled(theta, root, errors, beta, residual, noise, start, alpha, geometric: bool = True) -> Sides:
    """Steps of (12) for p = 2, q = 3, theta_hat = 2.5 [I; 0] + theta and e_Theta within eps-bar, against (15)."""
    hat, A, _ = _shaped(theta, root, theta)
    hat, A = hat + 2.5 * np.eye(3, 2), A + 0.01 * np.eye(3)
    norm, a = _norm(hat), _norm(A)
    h = np.linalg.eigvalsh(_hessian(A, hat))
    lower, upper = h[:, 0].clip(0), h[:, -1]
    eps = lemmas.tolerance(norm, lower / (2 * a))
    step = alpha * 4 / (2 * upper + lower)
    kappa = np.maximum(np.abs(1 - step * lower / 2), np.abs(1 - step * (upper + lower / 2)))
    e, norms, sizes = start, [], []
    for k in range(LENGTH):
        error = errors.reshape(-1, LENGTH, 3, 2)[:, k]
        error = error * (eps / np.maximum(_norm(error), 1.0))[:, None, None]
        now = hat + error
        turned = np.swapaxes(now, 1, 2)
        driven = (turned @ (A @ error @ beta[..., None] + residual[..., None]))[..., 0]
        moved = (turned @ A @ now @ e[..., None])[..., 0]
        e = e - step[:, None] * (moved + driven - noise.reshape(-1, LENGTH, 2)[:, k])
        norms.append(_norm(now))
        sizes.append(_norm(error))
    largest = np.linalg.norm(noise.reshape(-1, LENGTH, 2), axis=2).max(axis=1)
    stated = lemmas.second_stage_bound(
        kappa_beta=kappa,
        alpha=step,
        delta=np.sqrt(a) - 1,
        beta_hat_norm=np.linalg.norm(beta, axis=1),
        residual=np.linalg.norm(residual, axis=1),
        theta_norms=norms,
        first_stage_errors=sizes,
        noise=largest if geometric else (1 - kappa) * largest,
        start=np.linalg.norm(start, axis=1),
    )
    return np.linalg.norm(e, axis=1), stated


def _one_term() -> Iterator[Mapping[str, Any]]:
    """Equal noise at a small step size; and one term of (15) at a time, at theta_hat = 2.5 [I; 0], A = I."""
    none = {"theta": [0.0] * 6, "root": list(np.eye(3).ravel()), "errors": [0.0] * 6 * LENGTH}
    none |= {"beta": [0.0, 0.0], "residual": [0.0] * 3, "noise": [0.0] * 2 * LENGTH, "start": [0.0, 0.0], "alpha": 0.01}
    along = [1.0, 0, 0, 1.0, 0, 0] * LENGTH
    yield {**none, "noise": [1.0, 0.0] * LENGTH}
    yield {**none, "start": [1.0, 0.0], "alpha": 0.999, "errors": [-entry for entry in along]}
    yield {**none, "beta": [1.0, 0.0], "errors": along}
    yield {**none, "residual": [1.0, 0.0, 0.0], "errors": along}


PATHS = {
    "theta": (Real(-1.0, 1.0), 6),
    "root": (Real(-1.0, 1.0), 9),
    "errors": (Real(-1.0, 1.0), 6 * LENGTH),
    "beta": (Real(-2.0, 2.0), 2),
    "residual": (Real(-2.0, 2.0), 3),
    "noise": (Real(-2.0, 2.0), 2 * LENGTH),
    "start": (Real(-2.0, 2.0), 2),
    "alpha": Real(1e-3, 0.999, "log"),
}


def _noise_sum(geometric: int = 1) -> Iterator[tuple[str, sympy.Expr]]:
    """alpha |nu| / (1 - kappa) is kappa times itself plus alpha |nu|."""
    kappa, noise = sympy.symbols("kappa nu")
    total = noise / (1 - geometric * kappa)
    yield "the noise of one more step", kappa * total + noise - total


EQ_15 = Claim(
    id="iv/eq-15",
    where="App. C, (15)",
    page=17,
    equation="(15)",
    kind="inequality",
    statement=(
        "$norm(e_beta^((T)))$ is at most $kappa_beta^(T - T_0) norm(e_beta^((T_0)))$ plus the discounted sums of "
        "$alpha (1 + delta)^2 norm(hat(beta)) norm(Theta^((k))) norm(e_Theta^((k)))$ and of $alpha norm(Z^top r) "
        "norm(Theta^((k))) \\/ n$, plus $alpha norm(nu) \\/ (1 - kappa_beta)$."
    ),
    hypotheses="(14) for $T_0 <= t < T$.",
    remark="The $nu$ without index is the one of largest norm.",
    setting="By induction on $T$; tried on any path of $e_Theta$ within (13), five steps, $q = 3$, $p = 2$.",
    checks=(
        Symbolic(
            residuals=one_beta_step,
            impostors={"sign of the residual": {"residuals": {"residual": -1}}},
        ),
        Symbolic(residuals=_noise_sum, impostors={"one nu, not the geometric sum": {"residuals": {"geometric": 0}}}),
        Agreement(facts=_one_more, role="control", impostors={"kappa squared": {"facts": {"forgotten": 1}}}),
        Search(
            sides=_unrolled,
            role="control",
            box=PATHS,
            extremal=_one_term,
            vectorised=True,
            impostors={"one nu, not the geometric sum": {"sides": {"geometric": False}}},
        ),
    ),
    derivation=Derivation(
        text=(
            "(12), proved for matrices of any size, gives $norm(e_beta^((t+1))) <= kappa_beta norm(e_beta^((t))) + "
            "alpha (1 + delta)^2 norm(hat(beta)) norm(Theta^((t))) norm(e_Theta^((t))) + alpha norm(Z^top r) "
            "norm(Theta^((t))) \\/ n + alpha norm(nu)$ with $norm(L_t) <= kappa_beta$ and $norm(A) <= (1 + delta)^2$. "
            "The right side of (15) for $T + 1$ is $kappa_beta$ times that for $T$ plus these terms, the last by the "
            "second identity; at $T = T_0$ it is not less than the left."
        ),
        lemmas=("induction", "triangle inequality", "submultiplicativity"),
    ),
)
