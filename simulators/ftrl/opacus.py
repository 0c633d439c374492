"""Designed noise inside Opacus: a `DPOptimizer` whose noise is correlated over the steps of the run.

Needs the extra `opacus`. Everything but `add_noise` is Opacus's own: clipping, accumulation, virtual steps, the wrapped
optimiser. One process; not with `DistributedDPOptimizer`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from opacus.optimizers import DPOptimizer  # pyright: ignore[reportMissingImports]
from opacus.optimizers.optimizer import (  # pyright: ignore[reportMissingImports]
    _check_processed_flag,
    _generate_noise,
    _mark_as_processed,
)

from dpbounds.errors import DomainError
from dpbounds.ftrl.design.exports import Export
from dpbounds.ftrl.design.streams import NoiseStream

# What the state dict adds to that of the wrapped optimiser.
STATE = "designed_noise"


class DesignedNoiseOptimizer(DPOptimizer):
    """`DPOptimizer` that adds sigma G_c B w to the sums of clipped gradients, w standard normal, sigma that of
    `design`.

    - `design`: an `Export`, from `read_design(file)`; it says sigma, so there is no `noise_multiplier` to give.
    - `max_grad_norm` is the clip norm G_c; `generator` draws w: seeded by the system if not given.
    - `buffer_dtype`: of the arrays like the parameters that are kept, `design.stream.buffers` of them for each.

    Privacy is that of the whole run: one Gaussian event, `design.epsilon(delta)`. Opacus's accountants count every step
    by itself as if noise were independent, and are refused as step hooks. A record must take part as
    `design.participation` says: no Poisson sampling. The state dict holds buffers, step and the generator's state, so
    that a resumed run draws the same noise; whoever reads it can subtract that noise, so keep it as secret as the data.

    Raises `DomainError` beyond the steps of the design: the noise was made for them.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        design: Export,
        max_grad_norm: float,
        expected_batch_size: int | None,
        loss_reduction: str = "mean",
        generator: torch.Generator | None = None,
        secure_mode: bool = False,
        buffer_dtype: torch.dtype | None = None,
    ) -> None:
        own = torch.Generator() if generator is None else generator
        if generator is None:
            own.seed()
        super().__init__(
            optimizer,
            noise_multiplier=design.noise_multiplier,
            max_grad_norm=max_grad_norm,
            expected_batch_size=expected_batch_size,
            loss_reduction=loss_reduction,
            generator=own,
            secure_mode=secure_mode,
        )
        self.design, self.noise_generator = design, own
        self.noise_step = 0
        self._filter = _filter_of(design.stream)
        dtypes = [buffer_dtype or parameter.dtype for parameter in self.params]
        self._states = [
            torch.zeros((self._filter.size, *parameter.shape), dtype=dtype, device=parameter.device)
            for parameter, dtype in zip(self.params, dtypes, strict=True)
        ]

    def attach_step_hook(self, fn: Any) -> None:
        """Of any hook but Opacus's accountants, which would count the noise of every step as independent."""
        if getattr(fn, "__module__", "").startswith("opacus.accountants"):
            raise DomainError(
                "step hook", fn, "not an accountant of Opacus", "use design.epsilon(delta), for the whole run"
            )
        super().attach_step_hook(fn)

    def add_noise(self) -> None:
        """Add the noise of this step to every sum of clipped gradients; the result is in `p.grad`."""
        if self.noise_step >= self.design.stream.steps:
            steps = self.design.stream.steps
            raise DomainError("step", self.noise_step + 1, f"at most {steps}, for which the noise was designed")
        for parameter, state in zip(self.params, self._states, strict=True):
            _check_processed_flag(parameter.summed_grad)
            draw = _generate_noise(
                std=self.noise_multiplier * self.max_grad_norm,
                reference=parameter.summed_grad,
                generator=self.noise_generator,
                secure_mode=self.secure_mode,
            )
            noise = self._filter.advance(self.noise_step, draw.to(state.dtype).view(state.shape[1:]), state)
            parameter.grad = parameter.summed_grad.view_as(parameter) + noise.to(parameter.dtype)
            _mark_as_processed(parameter.summed_grad)
        self.noise_step += 1

    def state_dict(self) -> dict[str, Any]:
        """That of the wrapped optimiser, and buffers, step and generator of the noise. As secret as the data."""
        noise = {
            "step": self.noise_step,
            "buffers": [state.clone() for state in self._states],
            "generator": self.noise_generator.get_state(),
        }
        return {**super().state_dict(), STATE: noise}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where another run with the same design stood. Raises `DomainError` without the state of the noise."""
        if STATE not in state_dict:
            raise DomainError("state_dict", list(state_dict), f"one with {STATE!r}", "save this optimiser's own state")
        noise = state_dict[STATE]
        shapes = [tuple(buffers.shape) for buffers in noise["buffers"]]
        if shapes != [tuple(state.shape) for state in self._states]:
            raise DomainError("state_dict", shapes, "buffers of the shapes of this design and these parameters")
        super().load_state_dict({key: value for key, value in state_dict.items() if key != STATE})
        for state, buffers in zip(self._states, noise["buffers"], strict=True):
            state.copy_(buffers)
        self.noise_step = int(noise["step"])
        self.noise_generator.set_state(noise["generator"])


class _Buffers:
    """x = y - <omega, s>, s <- phi s + x, between two scalings."""

    def __init__(self, phi: np.ndarray, omega: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
        self.phi, self.omega, self.before, self.after = phi, omega, before, after
        self.size = len(phi)

    def advance(self, step: int, draw: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """The noise of a step from its draw; `state` (M, ...) is moved on in place."""
        phi, omega = (torch.as_tensor(each, dtype=state.dtype, device=state.device) for each in (self.phi, self.omega))
        filtered = float(self.before[step]) * draw - torch.tensordot(omega, state, dims=1)
        state.mul_(phi.view(-1, *[1] * draw.dim())).add_(filtered)
        return float(self.after[step]) * filtered


class _Bands:
    """x_t = (y_t - sum_{0<k<b} L_{t,t-k} x_{t-k}) / L_tt, between two scalings; the state is x_{t-1}, x_{t-2}, ..."""

    def __init__(self, stream: NoiseStream) -> None:
        self.stream, self.size = stream, stream.bands - 1

    def advance(self, step: int, draw: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """The noise of a step from its draw; `state` (b - 1, ...) is moved on in place."""
        known = min(step, self.size)
        own, row = self._row(step, np.arange(1, known + 1))
        weights = torch.as_tensor(row, dtype=state.dtype, device=state.device)
        filtered = float(self.stream.before[step]) * draw - torch.tensordot(weights, state[:known], dims=1)
        filtered = filtered / own
        if self.size:
            state.copy_(torch.cat([filtered[None], state[:-1]]))
        return float(self.stream.after[step]) * filtered

    def _row(self, step: int, lags: np.ndarray) -> tuple[float, np.ndarray]:
        """L_tt, and L_{t,t-k} for these lags k."""
        if self.stream.form == "columns":
            columns = np.asarray(self.stream.coefficients)
            return float(columns[step, 0]), columns[step - lags, lags]
        coefficients = self.stream.toeplitz_coefficients()
        return float(coefficients[0]), coefficients[lags]


def _filter_of(stream: NoiseStream) -> _Buffers | _Bands:
    if stream.buf_decay is not None and stream.output_scale is not None:
        return _Buffers(stream.buf_decay, stream.output_scale, stream.before, stream.after)
    return _Bands(stream)
