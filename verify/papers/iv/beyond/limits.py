"""Beyond the paper: both sides of limits, and the ends of what is computed: no noise, no steps left, no end at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import flint
import numpy as np

from dpbounds.iv import Moments, Population, TwoStageBudget, lyapunov_exponent, noise_expansion, predicted_curve
from dpbounds.iv.clipping import ClippedRun, Records, clipped_run, model_records
from dpbounds.iv.confidence import MomentRelease, PrivacyBudget, ReleasePlan
from dpbounds.iv.confidence.answers import ConfidenceAnswer
from dpbounds.iv.confidence.certified import require_positive
from dpbounds.iv.confidence.disclosure import Disclosure
from dpbounds.iv.confidence.ranges import public_range
from dpbounds.iv.confidence.signs import SignRelease
from dpbounds.iv.forecast import Forecaster
from dpbounds.iv.general import General
from dpbounds.iv.isotropic import Isotropic, settled_after
from dpbounds.iv.suggestions import suggested_clip_norms
from dpbounds.privacy import gaussian_log_delta
from simulators.iv.confidence import CellModel
from simulators.iv.confidence.noise import wishart
from simulators.iv.confidence.records import bounded_records
from verify.checks import Agreement, Fact, Holds, Times, Within, refused, taken
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}

# --- singular or not ---


def _if(fits: bool, label: str, parameter: str, call: Callable[[], Any]) -> Holds:
    return taken(label, call) if fits else refused(label, parameter, call)


def _rank(rng: np.random.Generator, *, wrong: float = 1.0) -> Iterator[Fact | Holds]:
    """Instruments near a dependence, regressors of units far apart, and one that no instrument moves but rounding."""
    for share, label in ((1.2, "above"), (0.8, "below")):
        for q in (2, 4):
            near = np.eye(q)
            near[0, 1] = near[1, 0] = 1 - wrong * share * q * 1e-13
            A = np.outer(1e3 ** np.arange(q), 1e3 ** np.arange(q)) * near
            where = f"{q} instruments with a least eigenvalue {label} {q}e-13"
            parts: dict[str, Any] = {"A": A, "G": np.eye(q)[:, :1], "b": np.ones(q), "n": q}
            yield _if(share > 1, where, "Z'Z/n", lambda parts=parts: Moments(**parts))
    signs = np.array([[(-1.0) ** (row >> bit & 1) for bit in range(3)] for row in range(8)])
    Z, free = signs[:, :2], signs[:, 2]
    X = np.column_stack([Z[:, 0] + free, -1e14 * (Z[:, 1] + 2 + free)])
    found = Moments.of(Z, X, Z.sum(axis=1))
    yield Fact("units far apart: fitted regressors", found.theta_hat / [1, 1e14], [[1, 0], [0, -1]], 1e-9)
    yield Fact("units far apart: beta", found.beta_hat * [1, 1e14], [1, -1], 1e-9)
    Z = Z + 0.1 * np.array([0.3, 0.7, -0.2, 0.9, 0.4, -0.6, 0.1, -0.8])[:, None]
    for size in (1.0, 1e3):
        unmoved = size * (free - Z @ np.linalg.lstsq(Z, free, rcond=None)[0])
        X = np.column_stack([Z[:, 0], unmoved])
        label = f"a regressor of size {size:g} that no instrument moves"
        yield refused(label, "Z'X/n", lambda X=X: Moments.of(Z, X, free))
        yield refused(f"{label}, and a small outcome", "Z'X/n", lambda X=X: Moments.of(Z, X, 1e-6 * free))
        yield refused(f"{label}, in units of 1e6", "Z'X/n", lambda X=X: Moments.of(Z, 1e-6 * X, free))
        moved = X + np.column_stack([0 * free, 1e-8 * size * Z[:, 1]])
        yield taken(f"one of size {size:g} that is moved a little", lambda X=moved: Moments.of(Z, X, free))
    for share in (1.02, 0.98):
        # Two regressors in the span of the instruments: the least singular value of unit columns is share 1e-11.
        mixed = np.array([[1, 1], [0, math.sqrt(2) * share * wrong * 1e-11]])
        columns = (signs[:, :2], signs[:, :2] @ mixed, free)
        yield _if(
            share > 1, f"regressors that differ by {share:g} of the limit", "Z'X/n", partial(Moments.of, *columns)
        )
        call = partial(Moments, A=np.eye(2), G=mixed, b=np.ones(2), n=8)
        yield _if(share > 1, f"moments of regressors that differ by {share:g} of the limit", "Z'X/n", call)
    for share, label in ((1.2, "above"), (0.8, "below")):
        second = np.array([[1, 1 - share * wrong * 2e-14], [1 - share * wrong * 2e-14, 1]])
        release = MomentRelease(
            first=np.ones(2), second=second, first_scale=0.0, second_scale=0.0, outcome_weight=1.0,
            regressor_weights=np.ones(1), n=9, adjacency="replace-one",
        )  # fmt: skip
        where = f"released moments with a least eigenvalue {label} 2e-14"
        parameter = "covariance of the released moments"
        yield _if(share > 1, where, parameter, lambda release=release: release.covariance)


def _ranges(rng: np.random.Generator) -> Iterator[Holds]:
    """Of arrays every entry counts, at both ends, whatever stands first."""
    for label, entry in (("below", -1e-9), ("above", 2e4), ("nan", math.nan)):
        for place in range(3):
            mus = np.insert(np.array([0.5, 1.0]), place, entry)
            parameter = f"mu[{place}]" if math.isnan(entry) else "mu"
            call = partial(gaussian_log_delta, mus, 1.0)
            yield refused(f"an entry {label} its range, at {place}", parameter, call)
    yield taken("entries at the ends", partial(gaussian_log_delta, np.array([1e4, 1e-3, 1.0]), 1.0))
    for least in (1.1e-11, 0.9e-11):
        theta = np.eye(4, 3) @ np.diag([1.0, 0.5, least])
        call = partial(Population, n=50, p=3, q=4, theta=theta)
        yield _if(least > 1e-11, f"a Theta with singular values down to {least:g}", "theta", call)
    order = noise_expansion(Moments(A=2 * np.eye(1), G=np.full((1, 1), 2.4), b=np.ones(1), n=9), 0.3, 0.2, 4)
    for last in (4, 5):
        for horizons in ((last,), (2, last)):
            noise = {"lambda1": [0.1] * len(horizons), "lambda2": [0.2] * len(horizons)}
            call = partial(predicted_curve, order, order.noiseless[-1], horizons=horizons, **noise)
            yield _if(last == 4, f"horizons {horizons} of a recursion of 4 steps", "horizons", call)


def _cells(rng: np.random.Generator) -> Iterator[Holds]:
    """Records of cells that may just, or may not, leave [-1, 1]: |a| + 2 noise to 0.8, |b| + |shift| + 2 noise to 1."""
    for name, given, most in (
        ("first_stage", {"noise": 0.15}, 0.5),
        ("slope", {"noise": 0.15, "outcome_shift": -0.2}, 0.5),
    ):
        for share in (0.999, 1.001, -0.999, -1.001):
            call = partial(CellModel, n=50, cells=3, **{**given, name: share * most})
            yield _if(abs(share) < 1, f"{name} at {share:g} of its limit", name, call)
    for beside in (2, -2, 0):
        sigma = flint.fmpq_mat([[1, beside, 0], [beside, 3, 0], [0, 0, 5]])
        call = partial(require_positive, sigma)
        yield _if(not beside, f"a covariance of 1 and 3 with {beside} between them", "covariance of the release", call)


def _sizes(rng: np.random.Generator) -> Iterator[Holds]:
    """One entry above 1e50, or all below 1e-50, of instruments, regressors or outcomes that are else ordinary."""
    Z, X = np.array([[1.0], [-2.0], [0.5], [3.0]]), np.array([[1.5], [-1.0], [2.0], [2.5]])
    for name, place in (("Z", 0), ("X", 1), ("Y", 2)):
        for size, fits in ((1.5e50, False), (0.9e50, True), (0.7e-50, False), (2e-49, True)):
            if name == "Z" and fits:
                continue  # its squares are out of range themselves
            data = [Z, X, X[:, 0] + 1]
            data[place] = np.where(np.arange(4).reshape(data[place].shape) == 2, size, min(1.0, size))
            call = partial(Moments.of, *data)
            yield _if(fits, f"{name} of a size of {size:g}", f"largest entry of {name}", call)


_PLAN: dict[str, Any] = {
    "outcome": "y", "regressors": ["x"], "instruments": ["z"], "bounds": {"y": (-1, 1), "x": (0, 2)},
    "budget": PrivacyBudget(mu=1.0, delta=1e-6), "independent": True, "instrument_means": {"z": 0.5},
}  # fmt: skip


def _stretched(rng: np.random.Generator) -> Iterator[Holds]:
    """Effects are not one and the same where a regressor has two values."""
    z, y = np.tile([0.0, 1.0], 6), np.linspace(-1, 1, 12)
    two, three = np.tile([0.0, 1.0, 1.0], 4), np.tile([0.0, 1.0, 2.0], 4)
    for H, x, label in ((1.0, two, "two"), (1.0, three, "three"), (2.0, two, "two")):
        plan = ReleasePlan(**_PLAN, heterogeneity=H)
        yield Holds(f"residuals are clipped, H = {H:g}", plan.stretched)
        where, fits = f"a regressor of {label} values with H = {H:g}", H > 1 or x is three
        columns = {"z": z, "x": x, "y": y}
        yield _if(fits, where, "heterogeneity", lambda plan=plan, columns=columns: bounded_records(plan, columns))


def _records(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Ranges of which the ends differ by about 1e-12 of the larger; data sets of about ten records, or of as many
    instruments less two; one record at an end of a natural range or beyond it; instruments beyond theirs.
    """
    for scale in (1.0, -3e4, 1e9):
        for share in (0.8, 1.2, -1.2):
            ends = sorted([scale, scale * (1 + share * 1e-12)])[:: 1 if share > 0 else -1]
            where = f"a range from {scale:g} with {share:g}e-12 of that to its other end"
            yield _if(share > 1, where, "bounds y", partial(public_range, "y", ends))
    values = np.random.default_rng(5).uniform(-1, 1, (12, 12))
    for q, least in ((1, 10), (8, 10), (9, 11), (10, 12)):
        names = [f"z{place}" for place in range(q)]
        bounds = {"y": (-1, 1), "x": (-1, 1)} | dict.fromkeys(names, (-1, 1))
        plan = ReleasePlan(
            outcome="y", regressors=("x",), instruments=tuple(names), bounds=bounds, budget=PrivacyBudget(epsilon=1.0)
        )
        for n in (least - 1, least):
            columns = dict(zip(["y", "x", *names], values[:, :n], strict=False))
            where = f"{n} records of {q} instruments"
            yield _if(n == least, where, "n", lambda plan=plan, columns=columns: bounded_records(plan, columns))
    z, x, y = np.array([1.0, 2, 3, 4, 5, 6, 8, 2, 6, 3]), np.linspace(0, 3, 10), np.linspace(-4, 5, 10)
    parts = {"outcome": "y", "regressors": ("x",), "instruments": ("z",), "budget": PrivacyBudget(epsilon=1.0)}
    ranges = {"y": (-4, 5), "x": (0, 3), "z": (2, 6)}
    for means, zero in ((None, 4.0), ({"z": 3.0}, 3.0)):
        plan = ReleasePlan(**parts, bounds=ranges, instrument_means=means)
        found = bounded_records(plan, {"z": z, "x": x, "y": y}).instruments[:, 0]
        stated = [(min(max(value, 2.0), 6.0) - zero) / 2 for value in z]
        yield Fact(f"instruments with mean {means}", found, stated, 1e-15)
    plan = ReleasePlan(**parts, bounds=ranges)
    for name, column, place, off in (("y", y, 0, -1e-6), ("y", y, 9, 1e-6), ("x", x, 0, -1e-6), ("x", x, 9, 1e-6)):
        moved = {"z": z, "x": x, "y": y, name: column + off * (np.arange(10) == place)}
        yield refused(f"{name} beyond its range by {off}", f"column {name}", partial(bounded_records, plan, moved))


# --- ends ---


def _runs(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """A run that settles goes on as it is; one that was cut stands where it ended; nodes in many coordinates."""
    A, theta, beta = np.diag([1.0, 0.5]), np.array([[1.0, 0.3], [0.2, -1.5]]), np.array([0.7, -0.4])
    problem = General(moments=Moments(A=A, G=A @ theta, b=A @ theta @ beta, n=9), eta=0.9, alpha=0.6)
    X = np.random.default_rng(1).standard_normal((9, 2))
    records = Records.of(X, X @ theta, X @ theta @ beta)
    own = [(np.zeros((2, 2)), np.zeros(2))]
    for _ in range(400):
        Theta, b = own[-1]
        own.append((Theta - 0.9 * A @ (Theta - theta), b - 0.6 * Theta.T @ A @ (Theta @ b - theta @ beta)))
    run = clipped_run(records, problem, 400, math.inf, math.inf)
    yield Fact("a run that settles: Theta", run.theta, np.array([Theta for Theta, _ in own]), 1e-8)
    yield Fact("a run that settles: beta", run.beta, np.array([b for _, b in own]), 1e-8)
    for target, eta, alpha in ((0.7, 1.0, 1.0), (0.7, 1.0, 0.5), (0.0, 1.0, 0.5), (0.0, 0.5, 0.5)):
        one = General(moments=Moments(A=np.eye(1), G=np.eye(1), b=np.full(1, target), n=9), eta=eta, alpha=alpha)
        ran = clipped_run(Records.of(X[:, :1], X[:, :1], target * X[:, 0]), one, 6, math.inf, math.inf)
        where, t = f"arrives at {target:g}, eta = {eta:g}, alpha = {alpha:g}", np.arange(7)
        yield Fact(f"Theta that {where}", ran.theta[:, 0, 0], 1 - (1 - eta) ** t, 1e-15)
        yield Fact(f"beta that {where}", ran.beta[:, 0], target * (1 - (1 - alpha) ** np.maximum(t - 1, 0)), 1e-15)
    forecaster = Forecaster(problem=problem, n=9, sigma_1=1.0, sigma_2=1.0, records=records)
    offsets = np.array([[0.1], [0.2], [0.3], [0.4]])
    short = replace(run, beta=run.beta[:4] + offsets)
    for steps, offset in ((2, 0.3), (3, 0.4), (50, 0.4)):
        # As at the end of the run, whatever the unclipped one did since.
        moved = forecaster.moved(short, steps, own[steps][1])
        yield Fact(f"moved by clipping at T = {steps} of a run of 3", moved, np.full(2, offset), 1e-9)
    model = Isotropic(singular_values=np.array([1.5, 0.8]), beta=np.array([0.6, -0.4]), q=3, eta=0.9, alpha=0.5)
    clipped = clipped_run(model_records(model, 1.0, 0.7), model, 120, 2.0, 1.0)
    yield Within("a run of the law is clipped", float(clipped.clipped_beta[-1]), 0.1, 0.9)
    # Errors come in pairs of opposite signs, whose clipped gradients add up to nothing there.
    yield Fact("and ends at beta", clipped.beta[-1], model.beta, 1e-6)
    yield Fact("shares that are clipped once it has settled", np.ptp(clipped.clipped_beta[-40:]), 0.0)
    still = replace(model, beta=np.array([0.6, 0.0]))
    unclipped = clipped_run(model_records(still, 1.0, 0.7), still, 120, math.inf, math.inf)
    yield Fact("one of whose coefficients never moves", unclipped.beta[-1], [0.6, 0.0], 1e-9)
    many = Isotropic(singular_values=np.full(14, 2.0), beta=np.full(14, 0.5), q=14, eta=0.5, alpha=0.1)
    nodes = model_records(many, 1.5, 0.5)
    residuals = nodes.outcome - nodes.regressors @ many.beta
    errors = nodes.regressors - 2 * nodes.instruments
    for label, values, spread in (("z", nodes.instruments, 1), ("y", residuals, 1.5), ("x", errors, 0.5)):
        stated = np.full(values.shape[1:], spread)
        yield Fact(f"30 coordinates: deviations of {label}", values.std(axis=0), stated, 0.05)
    for first, alpha in ((1.0, 0.3), (-2.0, 0.4)):
        moments = Moments(A=2 * np.eye(1), G=np.full((1, 1), 2 * first), b=np.ones(1), n=9)
        rate, share = float(lyapunov_exponent(moments, 0.3, alpha, 0.0)), 2 * alpha * first**2
        yield Fact(f"rate without noise, alpha H = {share:g}", rate, math.log(abs(1 - share)))
    moments = Moments(A=np.eye(1), G=np.eye(1), b=np.ones(1), n=9)
    yield Holds("rate without noise, alpha H = 1", float(lyapunov_exponent(moments, 0.3, 1.0, 0.0)) == -math.inf)
    yield Fact("steps after which nothing is left at rate 0", settled_after(0.0), 2.0, 0.0)
    yield Fact("at rate 1/2, until e^-60 is left", settled_after(0.5), math.ceil(60 / math.log(2)) + 2.0, 0.0)


def _other_data(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What another data set of the same law changes: by derivatives along eigenvectors of H, and by hand; nothing where
    the data are given.
    """
    own = Isotropic(singular_values=np.array([1.5, 0.8]), beta=np.array([0.6, -0.4]), q=3, eta=0.9, alpha=0.3)
    A = np.array([[1.2, 0.3, 0.0], [0.3, 0.9, 0.1], [0.0, 0.1, 1.1]])
    theta, beta = np.array([[1.1, 0.2], [0.1, 0.9], [0.3, -0.2]]), np.array([0.5, -0.8])
    general = General(moments=Moments(A=A, G=A @ theta, b=A @ theta @ beta, n=50), eta=0.7, alpha=0.4)
    for problem, hessian in ((own, np.diag([1.5, 0.8]) ** 2), (general, theta.T @ A @ theta)):
        forecaster = Forecaster(problem=problem, n=70, sigma_1=0.9, sigma_2=0.7)
        values, vectors = np.linalg.eigh(hessian)
        for T in (1, 2, 6):
            stated = np.zeros((2, 2))
            for h, along in zip(values, vectors.T, strict=True):
                # By a complex step in log h: what is left of the way after T - 1 steps.
                bend = np.imag((1 - problem.alpha * h * (1 + 1e-30j)) ** (T - 1)) / 1e-30 * (along @ problem.beta)
                relative = 2 * 0.7 / math.sqrt(70 * h) + math.sqrt(2 / 70)
                left = (1 - problem.alpha * h) ** (T - 1)
                variance = (left * 0.9) ** 2 / (70 * h) + (relative * bend) ** 2
                stated += variance * np.outer(along, along)
            yield Fact(f"{type(problem).__name__}, T = {T}", forecaster.sampled(T), stated, 1e-11)
    for sigma_1, sigma_2, share in (
        (0.1, 0.1, 2 * math.sqrt(3 / 70)),
        (0.1, 5.0, 5 * math.sqrt(3 / 70) / 0.8),
        (5.0, 0.1, 5 * math.sqrt((1 / 1.5**2 + 1 / 0.8**2) / 70) / math.hypot(0.6, 0.4)),
    ):
        found = Forecaster(problem=own, n=70, sigma_1=sigma_1, sigma_2=sigma_2).sampling
        yield Fact(f"share of sampling, sigma = ({sigma_1}, {sigma_2})", found, share, 1e-12)
    X = rng.standard_normal((40, 3)) @ theta
    given = Forecaster(problem=general, n=40, sigma_1=5.0, sigma_2=5.0, records=Records.of(X @ theta.T, X, X @ beta))
    yield Fact("a data set: nothing", [given.sampling, *given.sampled(3).ravel()], np.zeros(5), 0.0)


def _followed(rng: np.random.Generator) -> Iterator[Holds]:
    """A run that is cut is followed if it has arrived or clips next to nothing, once it has made two steps."""
    problem = Isotropic(singular_values=np.ones(1), beta=np.ones(1), q=1, eta=0.5, alpha=0.5)
    forecaster = Forecaster(problem=problem, n=9, sigma_1=1.0, sigma_2=1.0)
    for beta, clipped, T, followed in (
        ((0.0, 0.1, 0.3), (0.5, 0.2), 2, True), ((0.0, 0.1, 0.3), (0.5, 0.2), 3, False),
        ((0.0, 0.3, 0.3), (0.5, 0.2), 9, True), ((0.0, 0.3, 0.3 + 1e-6), (0.5, 0.2), 9, False),
        ((0.3, 0.3), (0.5,), 9, False), ((0.0, 0.1, 0.3), (9e-4, 0.0), 9, True),
        ((0.0, 0.1, 0.3), (2e-3, 0.0), 9, False),
    ):  # fmt: skip
        shares, none = np.array(clipped), np.zeros(len(clipped))
        for first, second in ((shares, none), (none, shares)):
            path = np.array(beta)[:, None]
            run = ClippedRun(theta=path[:, None], beta=path, clipped_theta=first, clipped_beta=second)
            yield Holds(f"beta {beta}, clipped {clipped}, T = {T}", forecaster.follows(run, T) == followed)


def _unclipped_norms(rng: np.random.Generator) -> Iterator[Fact]:
    """With next to no noise clip norms a fifth above the longest gradient are suggested, at the start or at the end."""
    Z = np.random.default_rng(3).standard_normal((30, 2)) * [1.0, 0.7]
    for against in (0.0, 4.0):
        X = Z[:, :1] + 0.5 * Z[:, 1:] + 0.1 * (Z[:, 1:] ** 2 - 0.49)
        # One record far out, against what is fitted: its gradients grow on the way.
        X[np.argmax(np.linalg.norm(Z, axis=1))] *= 1 - against
        Y = 1.5 * X[:, 0]
        moments = Moments.of(Z, X, Y)
        problem = General(moments=moments, eta=0.8, alpha=0.6)
        forecaster = Forecaster(problem=problem, n=30, sigma_1=1.0, sigma_2=1.0, records=Records.of(Z, X, Y))
        found = suggested_clip_norms(forecaster, TwoStageBudget(rho1=1e12, rho2=1e12))
        fitted, length = (Z @ moments.theta_hat)[:, 0], np.linalg.norm(Z, axis=1)
        first = np.max(length * np.maximum(np.abs(X[:, 0]), np.abs(fitted - X[:, 0])))
        second = np.max(np.abs(fitted) * np.maximum(np.abs(Y), np.abs(fitted * moments.beta_hat - Y)))
        norms = [found.gamma1, found.gamma2] if found else []
        yield Fact(
            f"clip norms, a record {against:g} times against the others", norms, [1.2 * first, 1.2 * second], 1e-12
        )


@dataclass(frozen=True)
class _Set:
    pieces: tuple[tuple[float, float], ...]


def _surroundings(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Around ends and point; with one of both, as far as ranges allow; what leaves of signs; variances of Wishart's."""
    far = {**_PLAN, "bounds": {"y": (-3, 3), "x": (0, 1)}}  # halves of 3 and 1/2
    plans = [(ReleasePlan(**one, heterogeneity=2.0), alone) for one, alone in ((_PLAN, 2.0), (far, 12.0))]
    margins: list[float] = []
    for (plan, alone), (pieces, point, low, high) in product(plans, (
        (((-1.0, 2.0),), 0.5, -1.0, 2.0),
        (((-math.inf, 3.0),), math.inf, 3.0, 3.0),
        (((-math.inf, 0.0), (1.0, math.inf)), -1.0, -1.0, 1.0),
        ((), math.inf, 0.0, 0.0),
    )):  # fmt: skip
        # The rest of an answer has no part in it.
        reading = SimpleNamespace(confidence_set=_Set(pieces), point=point)
        parts: dict[str, Any] = {"disclosure": None, "price": None, "n_star": 1.0}
        answer = ConfidenceAnswer(plan=plan, reading=cast(Any, reading), **parts)
        around = answer.surroundings()
        width = high - low if high > low else alone
        yield Fact(f"middle of what is shown of {pieces}", (around[0] + around[-1]) / 2, (low + high) / 2, 1e-9)
        margins.append((around[-1] - high) / width)
        yield Within(f"margin of {pieces}, in widths", margins[-1], 0.3, 3.0)
        yield Fact(f"steps of {pieces}", np.diff(around), np.full(len(around) - 1, around[1] - around[0]), 1e-6)
    yield Fact("margins in widths: all as the first", margins, np.full(len(margins), margins[0]), 1e-9)
    grid = np.linspace(-2.0, 5.0, 8)
    release = SignRelease(curve=grid**2, grid=grid, n=40, deviation=2.0, probability=0.3)
    found = Disclosure(release=release, budget=()).columns()
    yield Fact("signs: ends and size of the grid", found["grid"], [-2.0, 5.0, 8], 0.0)
    yield Fact("signs: the curve", found["curve"], grid**2, 0.0)
    for degrees in (3, 1):
        squares = wishart(np.random.default_rng(degrees), np.full(40_000, degrees), 2)
        yield Fact(f"mean of Wishart's matrices, {degrees} degrees", squares.mean(axis=0), degrees * np.eye(2), 0.02)


BEYOND_LIMITS = Claim(
    id="iv/beyond-limits",
    where="limits and ends of what is computed",
    kind="number",
    statement=(
        (
            "Moments that are singular up to rounding are refused, and those a fifth above the limit are not, whatever "
            "the units;"
        ),
        (
            "refused are a regressor of two values where effects are said to be one and the same, public ranges "
            "without a width but for rounding, data of fewer than ten records or of too few for their instruments, "
            "records whose squares leave the range of floats, records of cells that could leave their range, a $Theta$"
            " of lower rank, covariances with an eigenvalue below 0, arrays of budgets with any entry out of range, "
            "and horizons beyond the last step of a recursion;"
        ),
        (
            "a run that has settled stays where it is, and one that was cut is counted up to its end and followed if "
            "it has arrived or clips next to nothing;"
        ),
        "other data sets of a law count by what they change to first order;",
        (
            "without noise the rate is $log abs(1 - alpha H)$, and clip norms a fifth above the longest gradient are "
            "suggested;"
        ),
        "a set without ends is shown as far as the public ranges allow.",
    ),
    checks=(
        Agreement(decides="a", facts=_rank, impostors={"a limit half as large": {"facts": {"wrong": 0.5}}}),
        Agreement(decides="b", facts=_stretched),
        Agreement(decides="b", facts=_records),
        Agreement(decides="b", facts=_ranges),
        Agreement(decides="b", facts=_sizes),
        Agreement(decides="b", facts=_cells),
        Agreement(decides="ce", facts=_runs, impostors=_OFF),
        Agreement(decides="c", facts=_followed),
        Agreement(decides="d", facts=_other_data, impostors=_OFF),
        Agreement(decides="e", facts=_unclipped_norms, impostors=_OFF),
        Agreement(decides="f", facts=_surroundings, impostors=_OFF),
    ),
)
