"""Beyond the paper: the estimators on records that are given, by hand; sums of many records and of few."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import optimize

from dpbounds.glm import LINKS
from simulators.engine import Streams
from simulators.glm import GaussianInLaw, GaussianModel, Settings, estimate
from simulators.glm.models import Public, Sums
from verify.checks import Fact, Holds

SIGMA, W = np.array([[1.2, 0.3], [0.3, 0.5]]), np.array([0.7, -0.4])
N, M = 401, 90
BOUNDS: dict[str, Any] = {"radius": 1.6, "label_bound": 0.4, "label_center": 0.55}
CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("logistic", {"estimator": "paper", "beyond": "refuse", "radius": 1.6, "gram_scale": 0.3, "cross_scale": 0.2}),
    ("logistic", {"estimator": "paper", "beyond": "clip", "gram_scale": 0.3, "cross_scale": 0.2, **BOUNDS}),
    ("logistic", {"estimator": "pooled", "beyond": "clip", "gram_scale": 0.3, "cross_scale": 0.2, **BOUNDS}),
    ("logistic", {"estimator": "public-covariance", "beyond": "clip", "cross_scale": 0.2, **BOUNDS}),
    ("logistic", {"estimator": "no-public-data", "beyond": "clip", "gram_scale": 0.3, "cross_scale": 0.2, **BOUNDS}),
    ("logistic", {"estimator": "no-public-data", "gram_scale": 0.3, "cross_scale": 0.2, "w": np.array([1.5, -1.1])}),
    ("poisson", {"estimator": "pooled", "gram_scale": 0.3, "cross_scale": 0.2}),
    ("poisson", {"estimator": "two-round", "gram_scale": 0.3, "cross_scale": 0.2, "projection_scale": 0.4}),
    ("logistic", {"estimator": "paper", "per_user_noise": True, "gram_scale": 0.3, "cross_scale": 0.2}),
)


class _Given(GaussianModel):
    """Records that are known: private ones in chunks of 150, in their order, then public ones."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    told: list[int]

    def __init__(self, link: str, w: np.ndarray, rng: np.random.Generator) -> None:
        super().__init__(link=LINKS[link], w=w, n=N, m=M, covariance=SIGMA)
        x = rng.standard_normal((N + M, 2)) @ np.linalg.cholesky(SIGMA).T
        given = {"x": x[:N], "y": self.labels(x[:N] @ w, rng), "z": x[N:], "told": [0]}
        for name, value in given.items():
            object.__setattr__(self, name, value)

    def records(self, size: int, generator: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The next `size` of them."""
        first = self.told[0]
        self.told[0] += size
        for start in range(first, first + size, 150):
            kept = slice(start, min(start + 150, first + size))
            yield self.x[kept], self.y[kept]

    def sums(self, generator: np.random.Generator) -> Sums:
        """Of all."""
        return Sums(gram=self.x.T @ self.x, cross=self.x.T @ self.y, records=N)

    def public(self, generator: np.random.Generator) -> Public:
        """Of the public ones."""
        return Public(gram=self.z.T @ self.z, records=M, average=lambda w: lambda g: float(np.mean(g(self.z @ w))))


def estimated(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Every estimator step by step, noise from the same draws."""
    for place, (link, given) in enumerate(CASES):
        settings: dict[str, Any] = {"w": W} | given
        truth = settings.pop("w")
        model = _Given(link, truth, np.random.default_rng(place))
        streams = Streams(
            noise=np.random.default_rng(7), data=np.random.default_rng(8), initial=np.random.default_rng(9)
        )
        run = estimate(model, Settings(**settings), streams, 1)
        name = settings["estimator"]
        label = f"{link}, {name}, {settings.get('beyond', 'keep')}"
        stated = _by_hand(model, settings, np.random.default_rng(7))
        w = stated.pop("w")
        for key, value in stated.items():
            yield Fact(f"{label}: {key}", run[key][0], value, 1e-9)
        yield Fact(f"{label}: w", run["w"][0], w, 1e-9)
        yield Fact(
            f"{label}: squared error", run["relative_l2"][0], float(np.sum((w - truth) ** 2) / np.sum(truth**2)), 1e-9
        )
        yield Fact(
            f"{label}: largest", run["relative_max"][0], float(np.max((w - truth) ** 2) / np.max(truth**2)), 1e-9
        )
        yield Holds(f"{label}: as many records as there are", model.told[0] in (0, N))


def _by_hand(model: Any, settings: dict[str, Any], noise: np.random.Generator) -> dict[str, Any]:
    name, first = settings["estimator"], N // 2 if settings["estimator"] == "two-round" else N
    sent = [_sent(x, y, settings) for x, y in zip(model.x[:first], model.y[:first], strict=True)]
    kept = [one for one in sent if one is not None]
    A, b = sum(np.outer(x, x) for x, _ in kept), sum(y * x for x, y in kept)
    single = settings.get("per_user_noise", False)
    size = 1.0 if single else math.sqrt(len(kept))
    for _ in range(len(kept) if single else 1):
        entries = settings.get("gram_scale", 0.0) * size * noise.standard_normal(3)
        A = A + np.array([[entries[0], entries[1]], [entries[1], entries[2]]])
        b = b + settings["cross_scale"] * size * noise.standard_normal(2)
    matrix = {"pooled": A + model.z.T @ model.z, "public-covariance": model.z.T @ model.z}.get(name, A)
    users = {"pooled": len(kept) + M, "public-covariance": M}.get(name, len(kept))
    w_ols = np.linalg.solve(matrix / users, b / len(kept))
    y = model.z @ w_ols
    if name == "two-round":
        y = model.x[first:] @ w_ols
        y = y + settings["projection_scale"] * np.linalg.norm(w_ols) * noise.standard_normal(len(y))
    weights = np.full(len(y), 1 / len(y))
    if name == "no-public-data":
        nodes, weights = np.polynomial.hermite_e.hermegauss(100)
        y, weights = math.sqrt(b @ w_ols / len(kept)) * nodes, weights / weights.sum()
    scale = optimize.brentq(lambda c: c * float(weights @ model.link.slope(c * y)) - 1, 1e-3, 8.0, xtol=1e-13)
    return {
        "w": scale * w_ols,
        "w_ols": w_ols,
        "scale": scale,
        "definite": float(np.linalg.det(A) > 0 < np.trace(A)),
        "refused": 1 - len(kept) / first,
    }


def _sent(x: np.ndarray, y: float, settings: dict[str, Any]) -> tuple[np.ndarray, float] | None:
    """A record as it is sent, if it is."""
    length = math.hypot(*x)
    if settings.get("beyond") == "refuse":
        return (x, y) if length <= settings["radius"] else None
    if settings.get("beyond") != "clip":
        return x, y
    off = y - settings["label_center"]
    return x * min(1.0, settings["radius"] / length), math.copysign(min(abs(off), settings["label_bound"]), off)


def in_law(rng: np.random.Generator) -> Iterator[Fact]:
    """Few records are drawn as ever, and sums of a trillion are next to their means."""
    link, n, p = LINKS["logistic"], 10**12, 2
    for size in (5000, 65_535):
        few = [
            model(link=link, w=W, n=size, m=size, covariance=SIGMA).public(np.random.default_rng(3))
            for model in (GaussianInLaw, GaussianModel)
        ]
        for name, g in (("square", np.square), ("cosine", np.cos)):
            told = [one.average(W)(g) for one in few]
            yield Fact(f"{size} public records: {name}", told[0], told[1], 0.0)
        yield Fact(f"{size} public records: Gram matrix", few[0].gram, few[1].gram, 0.0)
    few = [
        model(link=link, w=W, n=65_535, m=p, covariance=SIGMA).sums(np.random.default_rng(3))
        for model in (GaussianInLaw, GaussianModel)
    ]
    yield Fact("65535 records: sums", few[0].cross, few[1].cross, 0.0)
    many = GaussianInLaw(link=link, w=W, n=n, m=n, covariance=SIGMA)
    sums, public = many.sums(np.random.default_rng(4)), many.public(np.random.default_rng(5))
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    weights, size = weights / weights.sum(), math.sqrt(W @ SIGMA @ W)
    slope = float(weights @ link.slope(size * nodes))
    yield Fact("E x x'", sums.gram / n, SIGMA, 1e-5)
    yield Fact("E x y", sums.cross / n, slope * SIGMA @ W, 1e-5)
    yield Fact("public E x x'", public.gram / n, SIGMA, 1e-5)
    yield Fact("public mean slope", public.average(W)(link.slope), slope, 1e-5)
    bent = public.average(W)(lambda z: np.sin(z + 0.3))
    yield Fact("public mean sine", bent, math.sin(0.3) * math.exp(-(size**2) / 2), 1e-5)
    yield Fact("public records", [public.records, sums.records], [n, n], 0.0)
