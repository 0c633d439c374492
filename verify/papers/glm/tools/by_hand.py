"""The steps of Algorithms 1 to 4 as printed, record by record, with the printed Newton iteration for the scale."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from simulators.glm import Settings, bounded
from simulators.glm.models import Model
from verify.papers.glm.tools.records import streams


@dataclass(frozen=True, kw_only=True)
class Run:
    """w_hat_ols, c_hat and their product."""

    w_ols: np.ndarray
    scale: float
    estimate: np.ndarray


def by_hand(problem: Model, settings: Settings, seed: int) -> Run:
    """The run that `estimate` makes with this seed, on the records and noise that it draws.

    Newton's iteration starts 3 % off the scale 1 / E mu' over the public records at w*.
    """
    given = streams(seed)
    p = problem.p
    gram, cross, users = np.zeros((p, p)), np.zeros(p), 0
    for x, y in problem.records(problem.n, given.data):
        for record, label in zip(*bounded(x, y, settings), strict=True):
            gram, cross, users = gram + np.outer(record, record), cross + label * record, users + 1
    for i, j in itertools.combinations_with_replacement(range(p), 2):
        gram[i, j] += settings.gram_scale * math.sqrt(users) * given.noise.standard_normal()
        gram[j, i] = gram[i, j]
    for i in range(p):
        cross[i] += settings.cross_scale * math.sqrt(users) * given.noise.standard_normal()
    public = problem.public(given.data)
    if settings.estimator == "pooled":
        gram, cross = (gram + public.gram) / (users + problem.m), cross / users
    w_ols = np.linalg.inv(gram) @ cross
    average, link = public.average(w_ols), problem.link
    c = 1.03 / public.average(problem.w)(link.slope)
    for _ in range(60):
        value = c * average(lambda z, c=c: link.slope(c * z)) - 1.0
        c -= value / average(lambda z, c=c: link.slope(c * z) + c * z * link.curvature(c * z))
    return Run(w_ols=w_ols, scale=c, estimate=c * w_ols)
