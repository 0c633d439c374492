"""Beyond the paper: runs of the estimate from messages, written out from the same draws, record by record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg, stats

from dpbounds.glm import LINKS, messages
from simulators.engine import Streams
from simulators.glm import GaussianInLaw, GaussianModel, estimate_from_messages
from simulators.glm.messages import MessageSettings, directions, mean_covariance, on_sphere, with_gaussian_noise
from simulators.glm.survey import LocalGLM
from verify.checks import Fact, Holds, refused, taken

SIGMA, W, TRIALS = np.array([[1.2, 0.3], [0.3, 0.5]]), np.array([0.7, -0.4]), 2
SETTINGS: tuple[dict[str, Any], ...] = (
    {"noise": "gaussian", "epsilon": 3.0, "delta": 1e-3, "radius": 0.8, "rule": "prediction"},
    {"noise": "cap", "epsilon": 2.0},
    {"noise": "hemisphere", "epsilon": 6.0, "rule": "prediction"},
)


def _generators() -> Streams:
    """Those that a run draws from, again."""
    return Streams(noise=np.random.default_rng(3), data=np.random.default_rng(4), initial=np.random.default_rng(5))


def drawn(rng: np.random.Generator) -> Iterator[Fact]:
    """Mean messages of records and in law, and their solutions; public records one by one and in law."""
    for link, label_bound, noise in (("logistic", None, 0.0), ("poisson", 4.0, 0.0), ("sigmoid", 1.3, 0.3)):
        for given in SETTINGS:
            own = MessageSettings(**given, label_bound=label_bound, by_record=True)
            radius, label = own.radius, f"{link}, {own.noise}"
            model = GaussianModel(link=LINKS[link], w=W, n=50, m=90, noise=noise, covariance=SIGMA)
            found, streams = estimate_from_messages(model, own, _generators(), TRIALS), _generators()
            root = np.real(linalg.sqrtm(SIGMA))
            A = np.linalg.inv(root @ (np.real(linalg.sqrtm(root)) if own.rule == "coefficients" else np.eye(2)))
            for trial in range(TRIALS):
                x = model.rows(50, streams.data)
                scores = messages.scored(link, label_bound).score(model.labels(x @ W, streams.data))
                sent = [A @ row / max(radius, float(np.linalg.norm(A @ row))) for row in x]
                mean = _noised(np.array(sent) * scores[:, None], own, streams.noise).mean(axis=0)
                public: Any = model.rows(90, streams.data)
                one = messages.solve(mean, public, link, matrix=A, radius=radius, label_bound=label_bound)
                yield from _same(f"{label}, by record, run {trial}", found, trial, mean, one)
            whole = MessageSettings(**given, label_bound=label_bound)
            law = messages.message_law(link, W, SIGMA, radius=radius, label_bound=label_bound, matrix=A)
            spread = _covariance(law, own)
            yield Fact(f"{label}: covariance of a message", mean_covariance(law, whole), spread, 1e-10)
            for public_in_law in (False, True) if not radius else (False,):
                m = 10**6 if public_in_law else 90
                many = GaussianInLaw(link=LINKS[link], w=W, n=5000, m=m, noise=noise, covariance=SIGMA)
                found, streams = estimate_from_messages(many, whole, _generators(), TRIALS), _generators()
                for trial in range(TRIALS):
                    mean = law.first + np.linalg.cholesky(spread / 5000) @ streams.noise.standard_normal(2)
                    if public_in_law:
                        off = np.linalg.cholesky(law.public / m) @ streams.data.standard_normal(2)
                        one = messages.solve_known(mean - off, SIGMA, link, matrix=A, label_bound=label_bound)
                    else:
                        public = many.rows(m, streams.data)
                        one = messages.solve(mean, public, link, matrix=A, radius=radius, label_bound=label_bound)
                    yield from _same(f"{label}, in law, m = {m}, run {trial}", found, trial, mean, one)
    yield from _sphere()


def _same(label: str, found: Any, trial: int, mean: np.ndarray, one: messages.Solution) -> Iterator[Fact]:
    yield Fact(f"{label}: message", found["message"][trial], mean, 1e-9)
    yield Fact(f"{label}: root", bool(found["has_root"][trial]) + 0, one.exists + 0, 0.0)
    if one.exists:
        yield Fact(f"{label}: w", found["w"][trial], one.w, 1e-6)
        off = float(np.sum((one.w - W) ** 2)) / 0.65
        yield Fact(f"{label}: error", found["relative_l2"][trial], off, 1e-5)


def _noised(sent: np.ndarray, own: MessageSettings, generator: np.random.Generator) -> np.ndarray:
    if own.delta is not None:
        return sent + messages.gaussian_scale(own.epsilon, own.delta) * generator.standard_normal(sent.shape)
    return _rounded(sent, messages.sphere(own.noise, 2, own.epsilon), generator)


def _covariance(law: messages.MessageLaw, own: MessageSettings) -> np.ndarray:
    """Of a message with its noise: along its direction and across, or with a Gaussian's beside it."""
    off = np.outer(law.first, law.first)
    if own.delta is not None:
        return law.second - off + messages.gaussian_scale(own.epsilon, own.delta) ** 2 * np.eye(2)
    shape = messages.sphere(own.noise, 2, own.epsilon)
    return shape.across * np.eye(2) + (shape.along - shape.across) * law.directions - off


def _rounded(sent: np.ndarray, shape: messages.Cap, generator: np.random.Generator) -> np.ndarray:
    """Message by message: to one end of its line, then to the side of the cap that is drawn."""
    n, p = sent.shape
    ends, sides = generator.random(n), generator.random(n)
    found = []
    starts = []
    for message, end in zip(sent, ends, strict=True):
        length = float(np.linalg.norm(message))
        start = message / length if length else np.eye(p)[0]
        starts.append(start if end < (1 + length) / 2 else -start)
    inside = sides < shape.probability
    if p == 1:
        return shape.scale * np.array([start if one else -start for start, one in zip(starts, inside, strict=True)])
    if shape.gamma == 0.0:
        for point, start, one in zip(generator.standard_normal((n, p)), starts, inside, strict=True):
            sign = 1.0 if (point @ start >= 0) == one else -1.0
            found.append(shape.scale * sign * point / np.linalg.norm(point))
        return np.array(found)
    # The coordinate along it, (u + 1) / 2 of a symmetric beta law, within the cap or without.
    law = stats.beta((p - 1) / 2, (p - 1) / 2)
    share = law.sf((1 + shape.gamma) / 2)
    first, second = generator.random(n), generator.random(n)
    others = generator.standard_normal((n, p))
    for start, one, a, b, other in zip(starts, inside, first, second, others, strict=True):
        u = 2 * law.isf(share * a if one else share + (1 - share) * b) - 1
        across = other - (other @ start) * start
        found.append(shape.scale * (u * start + math.sqrt(1 - u * u) * across / np.linalg.norm(across)))
    return np.array(found)


def _sphere() -> Iterator[Fact]:
    """Messages of no length and of full length in one to four dimensions; directions of records that vanish."""
    for p in (1, 2, 4):
        sent = np.random.default_rng(p).standard_normal((40, p))
        sent *= np.linspace(0.0, 1.0, 40)[:, None] / np.linalg.norm(sent, axis=1)[:, None]
        for noise in ("cap", "hemisphere"):
            shape = messages.sphere(noise, p, 1.7)  # type: ignore[arg-type]
            made = on_sphere(sent, shape, np.random.default_rng(9))
            stated = _rounded(sent, shape, np.random.default_rng(9))
            yield Fact(f"{noise}, p = {p}: points of the sphere", made, stated, 1e-9)
        own = np.random.default_rng(8).standard_normal((40, p))
        made = with_gaussian_noise(sent, 0.7, np.random.default_rng(8))
        yield Fact(f"p = {p}: messages with Gaussian noise", made, sent + 0.7 * own)
    rows, A = np.array([[0.0, 0.0], [3.0, 4.0], [0.3, -0.1]]), np.array([[2.0, 0.0], [1.0, 1.0]])
    for radius, first in ((0.0, [1.0, 0.0]), (2.0, [0.0, 0.0])):
        stated = [first, *(A @ row / max(radius, float(np.linalg.norm(A @ row))) for row in rows[1:])]
        yield Fact(f"directions within {radius:g}", directions(rows, A, radius), stated)


def users(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """A survey of users: what they send, the equation at the coefficients, and messages of a wrong length."""
    A, x, public = np.array([[1.0, 0.2], [-0.3, 0.8]]), rng.standard_normal((2000, 1)), rng.standard_normal((500, 1))
    rows, known = (np.column_stack([np.ones(len(part)), part]) for part in (x, public))
    counts = np.arange(60.0)
    for link, bound in (("logistic", None), ("poisson", 7)):
        rate = np.exp(rows @ [0.4, -0.3])
        y = rng.poisson(rate) if bound else rng.random(2000) < rate / (1 + rate)
        psi = np.where(y, 1.0, -1.0) if bound is None else 2 * np.minimum(y, bound) / bound - 1
        plain = psi[:, None] * np.array([A @ row / np.linalg.norm(A @ row) for row in rows])
        for noise, delta in (("cap", None), ("gaussian", 1e-3)):
            label, given = f"{link}, {noise}", {"noise": noise, "delta": delta, "epsilon": 4.0}
            own = LocalGLM(link=link, intercept=True, matrix=A, label_bound=bound, seed=8, **given)
            sent = own.message(x, y)
            told = _noised(plain, MessageSettings(**given), np.random.default_rng(8))
            yield Fact(f"{label}: what is sent", sent, told, 1e-9)
            own.fit(sent, public)
            z = known @ [own.intercept_, *own.coef_]
            means = np.tanh(z / 2)
            if bound:
                means = stats.poisson.pmf(counts, np.exp(z)[:, None]) @ (2 * np.minimum(counts, bound) / bound - 1)
            units = np.array([A @ row / np.linalg.norm(A @ row) for row in known])
            yield Fact(f"{label}: the equation", means @ units / 500, sent.mean(axis=0), 1e-6)
            made = own.content()
            numbers = [made["intercept"], made["coefficients"][0], made["messages"], made["public"]]
            yield Fact(f"{label}: what is kept", numbers, [own.intercept_, own.coef_[0], 2000, 500], 0.0)
            longer = sent * np.where(np.arange(2000) == 3, 1 + 1e-4, 1.0)[:, None]
            check = taken if delta else partial(refused, parameter="messages")
            yield check(f"{label}: one message that is longer", call=partial(own.fit, longer, public))
    bare = LocalGLM(link="logistic", epsilon=4.0, seed=8)
    bare.fit(bare.message(x, y > 1), public)
    yield Fact("without an intercept", [bare.intercept_, len(bare.coef_)], [0.0, 1.0], 0.0)
    yield refused("another number of names", "names", partial(bare.content, ["one", "two"]))
    yield Holds("names of columns", bare.content(["one"])["columns"] == ["one"])
