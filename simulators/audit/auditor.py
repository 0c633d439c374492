"""Does a mechanism keep its promise? Decided by its law as far as that goes, by sampling last.

>>> import numpy as np
>>> from dpbounds.audit import Box, laplace
>>> def count_of_ones(data, seed):
...     return data.sum() + np.random.default_rng(seed).laplace(scale=2.0)
>>> audit(count_of_ones, 0.5, adjacency="replace-one", domain=Box(shape=(4,), low=0, high=1), law=laplace(2.0)).verdict
'consistent'
>>> audit(count_of_ones, 0.4, adjacency="replace-one", domain=Box(shape=(4,), low=0, high=1), law=laplace(2.0)).verdict
'refuted'
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, get_args

from dpbounds.arguments import typed
from dpbounds.audit.accounted import GaussianEvent, event_interval
from dpbounds.audit.coefficients import Coefficients, judged
from dpbounds.audit.intervals import ALPHA
from dpbounds.audit.laws import law_of
from dpbounds.audit.promises import Promise, promise_of
from dpbounds.audit.results import Audit, Coverage, Step
from dpbounds.audit.witnesses import exceeds, witness
from dpbounds.errors import DomainError, choice, count, positive, within
from dpbounds.ftrl.design.exports import Export
from dpbounds.privacy import Adjacency
from simulators.audit.order import decided
from simulators.audit.process import MEMORY, Runner
from simulators.audit.work import RESOLUTION, Progress, Question, Work


@typed
def audit(
    mechanism: Any,
    claim: Any,
    *,
    adjacency: Adjacency,
    domain: Any = None,
    law: Any = "unknown",
    seconds: float = 30.0,
    seed: int = 0,
    resolution: float = RESOLUTION,
    alpha: float = ALPHA,
    memory: float = MEMORY,
    progress: Progress | None = None,
) -> Audit:
    """Whether `mechanism` keeps `claim` under this `adjacency`, in at most about `seconds` seconds.

    - `mechanism`: a function run(data, seed) of arrays that returns numbers, or run(data); or noise `Coefficients` or
      an exported design (decided without running anything); or a `GaussianEvent`, an accountant's words.
    - `claim`: (epsilon, delta), epsilon, or {"rho": ...}, {"mu": ...}: of one release of all that is returned.
    - `domain`: a `Box`, a mapping of names to boxes, examples, or pairs of neighbours, for functions.
    - `law`: what is declared of the noise: `gaussian(...)`, `laplace(...)`, "discrete" or "unknown". "gaussian" alone
      declares one unknown scale for all outputs.
    - `resolution`: relative error of the noise that is to be seen, if the seconds allow it.

    A mechanism whose noise is as declared and that keeps its claim is refuted, or its law said to differ, with
    probability at most `alpha`. Same seed, same calls, as long as the seconds suffice. Raises `DomainError` for
    arguments that cannot be used, such as a claim without delta where the noise is Gaussian.
    """
    promise, declared = promise_of(claim), law_of(law)
    choice("adjacency", adjacency, get_args(Adjacency))
    seconds, seed = positive("seconds", seconds), count("seed", seed, least=0)
    resolution, alpha = within("resolution", resolution, "[0.001, 0.2]"), within("alpha", alpha, "(0, 0.001]")
    if isinstance(mechanism, Export):
        mechanism = Coefficients(
            encoder=mechanism.stream.encoder(),
            noise_multiplier=mechanism.noise_multiplier,
            participation=mechanism.participation,
        )
    if isinstance(mechanism, Coefficients):
        return _of_coefficients(mechanism, promise, adjacency)
    if isinstance(mechanism, GaussianEvent):
        return _of_event(mechanism, promise, adjacency)
    if not callable(mechanism):
        raise DomainError("mechanism", mechanism, "a function run(data, seed), Coefficients, or a GaussianEvent")
    if declared.family == "gaussian" and promise.pure:
        raise DomainError("claim", promise.text, "one with delta > 0, rho or mu", "no Gaussian noise is purely private")
    if declared.family != "gaussian" and promise.epsilon is None:
        raise DomainError("claim", promise.text, "epsilon, with delta or without, unless the noise is Gaussian")
    asked = Question(promise, declared, adjacency, domain, seed, alpha, resolution, progress)
    with Runner(mechanism, seconds=seconds, memory=memory) as runner:
        found = decided(Work(runner, asked))
    # What the mechanism printed is read when its process has ended.
    return replace(found, printed=runner.printed)


def _of_coefficients(mechanism: Coefficients, promise: Promise, adjacency: Adjacency) -> Audit:
    started = time.process_time()
    found = judged(mechanism, promise, adjacency)
    participation = mechanism.participation
    numbers = {
        "encoder": mechanism.encoder.tolist(),
        "steps": len(mechanism.encoder),
        "noise_multiplier": mechanism.noise_multiplier,
        "participation": {
            "kind": participation.kind,
            "times": participation.times,
            "separation": participation.separation,
        },
        "adjacency": adjacency,
    }
    verdict = "refuted" if found.refuted else "proved" if found.proved else "unclear"
    return Audit(
        verdict=verdict,
        claim=promise,
        adjacency=adjacency,
        epsilon=found.spent,
        slack=promise.gaussian_mu / found.high,
        witness=witness("coefficients", promise.content(), **numbers) if found.refuted else None,
        coverage=Coverage(words=f"all, by {found.rule}"),
        assumed=("the library draws this noise, and records take part as often as said",),
        steps=(Step("coefficients", f"mu in [{found.low:.9g}, {found.high:.9g}]", 0, time.process_time() - started),),
        needs="" if verdict != "unclear" else "a rule that gives the sensitivity exactly: only an upper bound is known",
    )


def _of_event(event: GaussianEvent, promise: Promise, adjacency: Adjacency) -> Audit:
    if adjacency == "replace-one" and event.kind in ("poisson", "shuffled"):
        raise DomainError("adjacency", adjacency, "add-remove or zero-out for sampled batches")
    started = time.process_time()
    low, high = event_interval(event, promise)
    refuted, kept = exceeds(low, promise), not exceeds(high, promise)
    return Audit(
        verdict="refuted" if refuted else "consistent" if kept else "unclear",
        claim=promise,
        adjacency=adjacency,
        epsilon=(low, high),
        witness=witness("curve", promise.content(), event=event.content()) if refuted else None,
        coverage=Coverage(words="all: the event's own worst pair"),
        assumed=("the mechanism is the event that its accountant was told",),
        steps=(Step("curve", f"{low:.6g} to {high:.6g}", 0, time.process_time() - started),),
        needs=""
        if refuted or kept
        else f"a claim outside {low:.5g} to {high:.5g}: between them the bounds do not decide",
    )
