"""What other libraries call private, as `audit` takes it: functions run(data, seed), claims, events.

A library is imported when an adapter runs; none is needed to load this module. All that the object makes public has to
be in what the function returns.

>>> class NoisyMean:
...     random_state = None
...     def fit(self, X):
...         self.mean_ = X.mean(axis=0) + np.random.default_rng(self.random_state).normal(size=X.shape[1])
...         return self
>>> run = estimator(NoisyMean(), "mean_")
>>> bool((run(np.ones((4, 2)), 1)["mean_"] == run(np.ones((4, 2)), 1)["mean_"]).all())
True
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dpbounds.arguments import typed
from dpbounds.audit.accounted import GaussianEvent
from dpbounds.audit.promises import Promise, promise_of
from dpbounds.errors import DomainError, positive

Function = Callable[..., Any]
_EVENTS = "Gaussian noise, sampled by Poisson or not, composed with itself"
_MEASURES = "max divergence, zero-concentrated divergence, or either with a fixed delta"


@typed
def measurement(one: Any, d_in: Any) -> tuple[Function, Promise]:
    """An OpenDP measurement as a function of data, and what it claims of neighbours at distance `d_in`.

    Data are lists of numbers, or one number where its domain has one. It takes no seed: what it draws is the system's.
    Raises `DomainError` for a measure of privacy that is none of epsilon, (epsilon, delta) and rho.
    """
    spent, measure = one.map(d_in), str(one.output_measure)
    if measure == "ZeroConcentratedDivergence":
        claim: Any = {"rho": spent}
    elif measure in ("MaxDivergence", "Approximate(MaxDivergence)"):
        claim = spent
    else:
        raise DomainError("measurement", measure, _MEASURES)
    single = str(one.input_domain).startswith("AtomDomain")

    def run(data: np.ndarray) -> Any:
        return one(data.tolist()[0] if single else data.tolist())

    return run, promise_of(claim)


@typed
def estimator(model: Any, *released: str) -> Function:
    """A scikit-learn-like estimator as a function of data: X, or columns "X" and "y" that `fit` takes.

    It is copied, `random_state` set to the seed where it has one, fitted, and its attributes `released` are returned.
    Raises `DomainError` if none is named.
    """
    if not released:
        raise DomainError("released", released, "names of fitted attributes that are public, such as coef_")

    def run(data: Any, seed: int | None) -> dict[str, np.ndarray]:
        fresh = copy.deepcopy(model)
        if hasattr(fresh, "random_state"):
            fresh.random_state = seed
        fitted = fresh.fit(**data) if isinstance(data, Mapping) else fresh.fit(data)
        return {name: np.atleast_1d(getattr(fitted, name)) for name in released}

    return run


@typed
def event(told: Any) -> GaussianEvent:
    """What an accountant was told, from a `DpEvent` of dp_accounting (jax_privacy's too) or an Opacus accountant.

    Raises `DomainError` for events that are not one Gaussian step, Poisson-sampled or not, composed with itself.
    """
    if hasattr(told, "history"):
        if len(told.history) != 1:
            raise DomainError("event", f"{len(told.history)} settings in one history", "an accountant of one setting")
        noise, rate, steps = told.history[0]
        return _sampled(float(noise), float(rate), int(steps))
    steps, rate = 1, 1.0
    while not hasattr(told, "noise_multiplier"):
        inner = list(getattr(told, "events", [])) or [getattr(told, "event", None)]
        if len(inner) != 1 or inner[0] is None or hasattr(told, "sample_size"):
            raise DomainError("event", told, _EVENTS)
        steps *= int(getattr(told, "count", 1))
        if hasattr(told, "sampling_probability"):
            if rate != 1 or hasattr(inner[0], "count"):
                raise DomainError("event", told, _EVENTS)
            rate = float(told.sampling_probability)
        told = inner[0]
    if type(told).__name__ != "GaussianDpEvent":
        raise DomainError("event", told, _EVENTS)
    return _sampled(float(told.noise_multiplier), rate, steps)


def _sampled(noise: float, rate: float, steps: int) -> GaussianEvent:
    kind: Any = "poisson" if rate < 1 else "gaussian"
    return GaussianEvent(kind=kind, noise_multiplier=noise, sampling_probability=rate, steps=steps)


@typed
def optimizer(make: Callable[[int], Any]) -> Function:
    """One step of an Opacus optimiser as a function of gradients, a row of all parameters per record.

    `make(records)` builds it, directly or by `PrivacyEngine.make_private` on so many rows; the rows are handed to it as
    the records' gradients, and what `pre_step` leaves in the parameters' gradients is returned, one leaf a parameter.
    """

    def run(data: np.ndarray, seed: int | None) -> list[np.ndarray]:
        import torch  # pyright: ignore[reportMissingImports]

        torch.set_num_threads(1)  # threads of the process that was forked are not here
        torch.seed() if seed is None else torch.manual_seed(seed)
        one = make(len(data))
        parameters = [parameter for parameter in one.params if parameter.requires_grad]
        edges = np.cumsum([parameter.numel() for parameter in parameters])
        if data.ndim != 2 or data.shape[1] != edges[-1]:
            raise DomainError("data", f"an array of shape {data.shape}", f"rows of {edges[-1]} numbers")
        for parameter, part in zip(parameters, np.split(data, edges[:-1], axis=1), strict=True):
            rows = torch.as_tensor(part, dtype=parameter.dtype)
            parameter.grad_sample = rows.reshape(len(data), *parameter.shape)
        one.pre_step()
        return [parameter.grad.detach().numpy().ravel() for parameter in parameters]

    return run


@typed
def transformation(make: Callable[[int], Any], *, norm: float = 1.0) -> Function:
    """The steps of an optax transformation, such as a privatizer of jax_privacy, as a function of gradients (T, d).

    `make(seed)` builds it. Each row, the gradient of the one record that a step has, is clipped to `norm` and handed to
    `update` in turn; what comes out of all steps is returned, (T, d). With seed None, a seed is drawn.
    """
    positive("norm", norm)

    def run(data: np.ndarray, seed: int | None) -> np.ndarray:
        import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

        drawn = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        clipped = data / np.maximum(np.linalg.norm(data, axis=1, keepdims=True) / norm, 1.0)
        one, rows = make(drawn), []
        state = one.init(jnp.zeros(data.shape[1]))
        for row in clipped:
            update, state = one.update(jnp.asarray(row), state)
            rows.append(np.asarray(update))
        return np.stack(rows)

    return run
