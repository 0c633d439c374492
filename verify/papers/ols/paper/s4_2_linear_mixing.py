"""Section 4.2: the guarantee of linear mixing with dynamic sketch size (Theorem 2), (16), and saturation at fixed k."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import sympy
from scipy.special import fdtri

from dpbounds.ols import DynamicMixing, Gram, LinearMixingScales, bounds, features, sketch
from dpbounds.ols.risk import released, sketch_and_solve
from verify.checks import Agreement, Fact, Rate, Symbolic, Times, Within
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.derivations import Derivation

# One choice of the universal constants c_0, c_1, 1/c_2, as in Propositions 1 and 2.
C0, C1, INVERSE_C2 = 16.0, 2.0, 16.0
D = 4


def _gram(eigenvalues: np.ndarray, theta: float, residual: float) -> Gram:
    """A diagonal, theta* of length `theta` in equal parts, L(theta*) = `residual`."""
    fit = np.full(len(eigenvalues), theta / math.sqrt(len(eigenvalues)))
    y_squared = float(eigenvalues @ fit**2 + residual)
    return Gram(A=np.diag(eigenvalues), b=eigenvalues * fit, y_squared=y_squared, n=10**9)


# --- Theorem 2 ---


def _worst_risk(
    eigenvalues: np.ndarray,
    theta: float,
    residual: float,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    failure: float = 1e-6,
    C_X: float = 1.0,
    C_Y: float = 1.0,
    printed: bool = False,
) -> tuple[float, float]:
    """What the risk of the corrected Algorithm 5 (or the printed one) exceeds with probability at most rho, and (15)
    with constant 1 and C_X² for 1.

    Given eta², R <= 2 ||theta_R - theta*||²_A + 2 s0² F d/(k-d+1), F the 1 - rho/2 quantile of the F distribution (item
    5 of the exact laws; A <= M). The released eigenvalue is anywhere from its rho/4 quantile to lambda^XY.
    """
    problem = _gram(eigenvalues, theta, residual)
    A, b, data, bound = problem.A, problem.b, features(problem), C_X**2 + C_Y**2
    mixing = _mixing(epsilon, delta, failure, printed)
    risks = []
    for drop in (0.0, mixing.tau, mixing.tau + 5.5):  # z = tau, 0 and a normal quantile beyond rho/4
        seen = max(data.joint_lambda_min - mixing.test_noise(bound) * drop, 0.0)
        size, noise = mixing.sketch(seen, bound_squared=bound)
        ridge = np.linalg.solve(A + noise * np.eye(D), b)
        bias = float((ridge - np.linalg.solve(A, b)) @ A @ (ridge - np.linalg.solve(A, b)))
        variance = max(problem.y_squared + noise - float(b @ ridge), 0.0)
        rest = size - D + 1
        risks.append(2 * bias + 2 * variance * float(fdtri(D, rest, 1 - failure / 2)) * D / rest)
    multiplier = bounds.mixing_multiplier(epsilon, delta, failure, D)
    return max(risks), float(bounds.linear_mixing(multiplier, data, outcome_bound=math.sqrt(bound - 1)))


def _mixing(epsilon: float, delta: float, failure: float, printed: bool) -> DynamicMixing:
    """Algorithm 5 at Theorem 2's k, corrected or as printed."""
    k = math.ceil(max(C0 * D, INVERSE_C2 * math.log(2 * C1 / failure)))
    mended = {"in_units": not printed, "as_drawn": not printed}
    return DynamicMixing(epsilon=epsilon, delta=delta, k=k, failure=failure, **mended)


BASE = np.array([300.0, 500.0, 900.0, 2000.0])


# C_X, C_Y.
BOUNDS = ((1.0, 0.25), (1.0, 1.0), (1.0, 3.0), (2.0, 0.25))


def _growing(
    decades: float, power: float = 0.0, printed: bool = False, pairs: tuple = BOUNDS
) -> Iterator[tuple[str, float]]:
    """Risk over (15) as n grows, and with it A and L(theta*): the second branch."""
    up = 10**decades
    for C_X, C_Y in pairs:
        eigenvalues = (C_X**2 + C_Y**2) / 2 * BASE * up
        risk, bound = _worst_risk(eigenvalues, 1.0, 2000.0 * up, C_X=C_X, C_Y=C_Y, printed=printed)
        yield f"$n$ growing, $C_X = {C_X:g}$, $C_Y = {C_Y:g}$", risk / bound * up**power


def _size(eigenvalues: np.ndarray, residual: float) -> int:
    """The rows that the printed line 6 takes where lambda^XY itself is released, C_X = C_Y = 1."""
    seen = features(_gram(eigenvalues, 1.0, residual)).joint_lambda_min
    return _mixing(1.0, 1e-6, 1e-6, printed=True).sketch(seen, bound_squared=2.0)[0]


def _saturated(rng: np.random.Generator) -> Iterator[Within]:
    """lambda^XY 284 and 284 000, L(theta*) 2000 and 2 000 000: line 6 has hardly enlarged the sketch.

    By the exact law without noise at the largest eigenvalue that is released: R / L is chi²_d / chi²_(k - d + 1).
    """
    risks = []
    for residual in (2e4, 2e7):
        size = _size(BASE * residual / 2e3, residual)
        risks.append(residual * float(fdtri(D, size - D + 1, 1 - 1e-6)) * D / (size - D + 1))
    bound = _worst_risk(BASE * 1e4, 1.0, 2e7, printed=True)[1]
    numbers = {"share": risks[1] / 2e7, "risk": risks[1], "bound": bound}
    growth = risks[1] / risks[0]
    yield Within("risk at 1000 times the size; (15) does not change", growth, most=30.0, numbers=numbers)


# epsilon, delta, k; and lambda~ over gamma (C_X² + C_Y²).
ENLARGED, TIMES = ((0.1, 1e-6, 244), (1.0, 1e-6, 244), (1.0, 1e-9, 60), (3.0, 1e-3, 1000)), (1.0, 3.0, 10.0, 100.0)


def _enlarged(rng: np.random.Generator, *, as_drawn: bool = True, in_units: bool = True) -> Iterator[Within]:
    """The rows of line 6 over k (lambda~ / gamma)^2, lambda~ in units of C_X² + C_Y²."""
    for epsilon, delta, k in ENLARGED:
        mixing = DynamicMixing(epsilon=epsilon, delta=delta, k=k, failure=delta, as_drawn=as_drawn, in_units=in_units)
        for times, (C_X, C_Y) in zip(TIMES, BOUNDS, strict=True):
            bound = C_X**2 + C_Y**2
            size, _ = mixing.sketch(times * mixing.gamma * bound * (1 + 1e-12), bound_squared=bound)
            label = f"rows over k (lambda~/gamma)², epsilon = {epsilon:g}, delta = {delta:g}, lambda~ = {times:g} gamma"
            yield Within(f"{label}, C_X = {C_X:g}, C_Y = {C_Y:g}", size / (k * times**2), 1.0 - 1.0 / k, 2.0)


def _elsewhere(decades: float, power: float = 0.0) -> Iterator[tuple[str, float]]:
    """Risk over (15) in every other direction, line 6 corrected."""
    up = 10**decades
    spots = {
        "$L$ up": (BASE / 100, 1.0, 10.0 * up, {}),
        "$norm(theta^*)$ up": (BASE, up, 2000.0 * (1 + up**2), {}),
        "$norm(theta^*)$ down": (BASE, 1 / up, 2000.0, {}),
        "$lambda^X$ down": (BASE / up, 1.0, 2000.0, {}),
        "$C_Y$ up": (BASE, 1.0, 2000.0, {"C_Y": up}),
        "$C_Y$ down": (BASE, 1.0, 2000.0, {"C_Y": 1 / up}),
        "$C_X$ up": (BASE, 1.0, 2000.0, {"C_X": up}),
        "$epsilon$ up": (BASE, 1.0, 2000.0, {"epsilon": min(up, 13.8)}),
        "$epsilon$ down": (BASE, 1.0, 2000.0, {"epsilon": 1 / up}),
        "$rho.alt, delta$ down": (BASE, 1.0, 2000.0, {"failure": 1e-6 / up**3, "delta": 1e-6 / up**3}),
    }
    for label, (eigenvalues, theta, residual, changed) in spots.items():
        risk, bound = _worst_risk(eigenvalues, theta, residual, **changed)
        yield label, risk / bound * up**power


EXTENTS = (0.35, 0.7, 1.4, 2.8)

THM_2 = Claim(
    id="ols/thm-2",
    where="Theorem 2",
    equation="(15)",
    kind="mc-rate",
    statement=(
        "Algorithm 5 with $k = max{c_0 d, 1/c_2 log((2 c_1) \\/ rho.alt)}$, $rho.alt <= delta$: with probability at "
        'least $1 - rho.alt$, $cal(R) <= O(gamma_"mix" (1 + C_Y^2) (1 + norm(theta^*)^2) + L(theta^*) - '
        'lambda^(X Y)_min (1 + norm(theta^*)^2))$ if $lambda^(X Y)_min < gamma_"mix" (1 + C_Y^2)$, else '
        '$O(gamma_"mix" (1 + C_Y^2) L(theta^*) \\/ lambda^(X Y)_min)$.'
    ),
    given={"small": ENLARGED[0][0], "large": ENLARGED[-1][0], "longest": TIMES[-1]},
    setting=(
        "Exact laws of Algorithm 5 for $d = 4$, the eigenvalue released anywhere between its $rho.alt\\/4$ "
        "quantile and "
        "$lambda^(X Y)_min$; $c_0 = 16$, $c_1 = 2$, $c_2 = 1\\/16$."
    ),
    checks=(
        Agreement(facts=_saturated),
        Rate(ratios=partial(_growing, printed=True), relation="upper", extents=EXTENTS, per_extent=3),
    ),
    fault=Fault(
        severity="substantive",
        touches="statement",
        root="ols/alg-5",
        finding=(
            "Line 6 of Algorithm 5 counts the eigenvalue test with noise $gamma \\/ sqrt(tilde(k))$, so that "
            "$tilde(k)$ "
            "stays bounded however large $tilde(lambda)$ is, and the second branch of (15) fails: with $d = 4$, "
            "$epsilon = C_Y = 1$, $rho.alt = delta = 10^(-6)$, $lambda^(X Y)_min approx 3 dot 10^6$, $L(theta^*) = 2 "
            "dot 10^7$ the risk reaches ${risk:2}$ "
            'with probability $rho.alt$, a share ${share:2}$ of $L(theta^*)$, where $gamma_"mix" (1 + '
            "C_Y^2) L(theta^*) \\/ lambda^(X Y)_min$ is ${bound:3}$."
        ),
        consequence=(
            "As printed, Algorithm 5 saturates at a share of $L(theta^*)$ as the fixed-$k$ methods do. The theorem "
            "stands, in both branches, for the corrected algorithm, whose line 6 counts the noise that was drawn, as "
            "(124) does."
        ),
    ),
    correction=Correction(
        statement=(
            (
                r"(15), with $C_X^2 + C_Y^2$ for $1 + C_Y^2$, holds for the corrected Algorithm 5 (`ols/alg-5`) and "
                r"$epsilon$ up to the order of $log(1 \/ delta)$;"
            ),
            (
                r"its $tilde(k)$ is 1 to 2 times $k (tilde(lambda) \/ (gamma (C_X^2 + C_Y^2)))^2$ (tried for $epsilon$ "
                r"from ${small}$ to ${large}$, $delta$ from $10^(-9)$ to $10^(-3)$, $tilde(lambda)$ from 1 to "
                r"${longest}$ times $gamma (C_X^2 + C_Y^2)$)."
            ),
        ),
        ground=(
            "The risk is $O(L(theta^*) d \\/ tilde(k))$ without noise, smaller than (15), and $O(L(theta^*) + eta^2 "
            "(1 + norm(theta^*)^2))$ with it; $L(theta^*)$ is at most the first branch, by $lambda^(X Y)_min < "
            'gamma_"mix" (1 + C_Y^2)$.'
        ),
        checks=(
            Rate(
                decides="a",
                ratios=_growing,
                relation="upper",
                extents=EXTENTS,
                per_extent=3,
                axes=("decades of $n$", "risk over (15)"),
                impostors={
                    "two and a half powers less": {"ratios": {"power": 2.5}},
                    "lines 5 and 6 as printed": {"ratios": {"printed": True}},
                },
            ),
            Rate(
                decides="a",
                ratios=_elsewhere,
                relation="upper",
                extents=EXTENTS,
                per_extent=3,
                impostors={"one power less": {"ratios": {"power": 1.0}}},
            ),
            Agreement(
                decides="b",
                facts=_enlarged,
                impostors={
                    "the noise of line 6": {"facts": {"as_drawn": False}},
                    "not in units": {"facts": {"in_units": False}},
                },
            ),
        ),
    ),
)

# --- (16) ---


def _augmented(square: int = 2) -> Iterator[tuple[Any, ...]]:
    """(9) for X_ = (X; eta I; 0), Y_ = (Y; 0; eta): its loss is L(theta) + eta² ||theta||² + eta², its least value
    R_R + L* + eta² ||theta_R||² + eta². Right side of (16) less the risk that (9) allows: eta² ||theta||².
    """
    chi, risk, least, eta, ridge, own = sympy.symbols("chi R_R L eta t_R t", positive=True)
    augmented = risk + least + eta**2 * ridge + eta**2
    allowed = (1 + 2 * chi + chi**2) * augmented - eta**2 * own - eta**2 - least
    printed = (1 + chi) ** square * (risk + eta**2 * ridge) + (chi**2 + 2 * chi) * (eta**2 + least)
    yield "(16) less what (9) allows", printed - allowed, eta**2 * own


def _augmented_loss(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """The least loss of the augmented system from its records; the mean risk against (16) at Proposition 1's k."""
    for n, d, eta in ((12, 3, 0.7), (20, 2, 2.0)):
        X, Y = rng.standard_normal((n, d)), rng.standard_normal(n)
        rows = np.vstack([X, eta * np.eye(d), np.zeros(d)])
        target = np.concatenate([Y, np.zeros(d), [eta]])
        least = float(np.linalg.lstsq(rows, target, rcond=None)[1][0])
        A, b = X.T @ X, X.T @ Y
        ridge, fit = np.linalg.solve(A + eta**2 * np.eye(d), b), np.linalg.solve(A, b)
        residual = float(np.sum((Y - X @ fit) ** 2))
        risk = float((ridge - fit) @ A @ (ridge - fit))
        stated = risk + residual + eta**2 * float(ridge @ ridge) + eta**2
        yield Fact(f"least loss, eta = {eta}", least, factor * stated, 1e-10)
        k, chi = 16 * d, 1.0
        mean = float(sketch_and_solve(Gram(A=A, b=b, y_squared=float(Y @ Y), n=n), k=k, eta_squared=eta**2))
        bound = (1 + chi) ** 2 * (risk + eta**2 * float(ridge @ ridge)) + (chi**2 + 2 * chi) * (eta**2 + residual)
        yield Within(f"mean risk, at most (16), eta = {eta}", mean, most=bound)


THM_2_EQ16 = Claim(
    id="ols/thm-2-eq16",
    where="Section 4.2, proof sketch of Theorem 2",
    equation="(16)",
    kind="inequality",
    statement=(
        '$cal(R) (hat(theta)_"dmix") <= (1 + chi)^2 (cal(R) (theta^*(eta^2)) + eta^2 norm(theta^*(eta^2))^2) + '
        "(chi^2 + 2 chi) (eta^2 + L(theta^*))$ for $k, chi$ as in Proposition 1 and $eta >= 0$."
    ),
    remark='With $eta^2 norm(hat(theta)_"dmix")^2$ to spare.',
    checks=(
        Symbolic(residuals=_augmented, impostors={"a power less": {"residuals": {"square": 1}}}),
        Agreement(facts=_augmented_loss, impostors={"0.1 % more": {"facts": {"factor": 1.001}}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "The rows $(X\\; eta I\\; 0)$ with the outcomes $(Y\\; 0\\; eta)$ have the loss $L(theta) + eta^2 "
            "norm(theta)^2 + eta^2$, least at $theta^*(eta^2)$, and their sketch is that of Algorithm 4, independent "
            "standard normal entries times these rows. (9) for them (Proposition 1, `ols/prop-1`), less $eta^2 "
            'norm(hat(theta)_"dmix")^2$ on its left side, is (16), for every $X$, $Y$ and $eta$.'
        ),
    ),
)

# --- saturation at fixed k ---


def _saturation(decades: float, power: float = 0.0) -> Iterator[tuple[str, float]]:
    """Mean risk of Algorithm 4 at fixed k over L(theta*), as all of A and L grow, so that eta -> 0."""
    scale = 10**decades
    for k, outcome_bound in ((40, 1.0), (200, 0.5)):
        eigenvalues = scale * np.array([4000.0, 5000.0, 7000.0, 9000.0])
        problem = _gram(eigenvalues, 0.8, 9000.0 * scale)
        data = features(problem)
        gamma = float(sketch.gamma(1.0, 1e-6, k))
        scales = LinearMixingScales(k=k, gamma=gamma, tau=6.0, outcome_bound=outcome_bound)
        law = released(
            data.joint_lambda_min, level=gamma * scales.row_bound_squared, scale=scales.test_noise, tau=scales.tau
        )
        risk = float(sketch_and_solve(problem, k=k, eta_squared=law))
        yield f"$k = {k}$", risk / data.residual * scale**power


def _limits(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """E R = L d / (k - d - 1) exactly once eta = 0."""
    for k in (7, 40, 200):
        problem = _gram(np.array([400.0, 500.0, 700.0, 900.0]), 0.8, 77.0)
        risk = float(sketch_and_solve(problem, k=k, eta_squared=0.0))
        yield Fact(f"k = {k}", risk, factor * 77.0 * 4 / (k - 5), 1e-10)


THM_2_SATURATE = Claim(
    id="ols/thm-2-saturate",
    where="After Theorem 2",
    equation="after (16)",
    kind="mc-rate",
    statement=(
        'The fixed-$k$ methods (Sheffet; Lev et al.) saturate at $L(theta^*)$ when $lambda^(X Y)_min >= gamma_"mix" '
        "(1 + C_Y^2)$."
    ),
    setting="Algorithm 4 with $A$ and $L(theta^*)$ growing together, so that its noise vanishes.",
    remark="At a fixed share of it: $bb(E) cal(R) = L(theta^*) d \\/ (k - d - 1)$ once $eta = 0$.",
    checks=(
        Rate(
            ratios=_saturation,
            relation="theta",
            extents=(0.5, 1.0, 2.0, 4.0),
            per_extent=3,
            impostors={"one power less": {"ratios": {"power": 1.0}}},
        ),
        Agreement(facts=_limits, impostors={"1 % more": {"facts": Times(1.01)}}),
    ),
)
