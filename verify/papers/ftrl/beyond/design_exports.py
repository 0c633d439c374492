"""What is handed to training libraries is the mechanism that was designed, with its sensitivity and its privacy."""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpbounds.ftrl import correlations
from dpbounds.ftrl.design import Bands, Blt, Objective, Participation, ScaledBlt, ScaledToeplitz, unit_columns
from dpbounds.ftrl.design.exports import SAVED, Export, archive, export, exported_files, saved
from dpbounds.ftrl.design.streams import NoiseStream, noise_stream
from simulators.ftrl.design_files import read_design
from verify.checks import Agreement, Fact, Holds, Times
from verify.papers.ftrl.beyond.design_export_modules import jax_module_facts
from verify.papers.ftrl.beyond.design_stream_forms import stream_forms
from verify.statements.claims import Claim

OURS = "beyond the paper"
STEPS = 11
BLT = Blt((0.97, 0.8, 0.3), (0.1, 0.15, 0.2))
ROWS = 1.0 + 0.5 * np.linspace(0.0, 1.0, STEPS) ** 2
SIGNED = Bands((2.0, -0.7, 0.3))


# Arrays like the parameters that the noise keeps, and mechanisms with scalings.
KEPT = {
    "BLT": 3,
    "BLT with unit columns": 3,
    "scaled BLT": 3,
    "bands": 2,
    "bands, scaled": 2,
    "nu = 0.1": STEPS - 1,
    "dense bands": 2,
}
SCALED = ("BLT with unit columns", "scaled BLT", "bands, scaled")


@cache
def _mechanisms() -> dict[str, correlations.Correlation]:
    """Of every form, with scalings and without."""
    return {
        "BLT": BLT,
        "BLT with unit columns": unit_columns(BLT, STEPS),
        "scaled BLT": ScaledBlt(BLT, STEPS, ROWS),
        "bands": SIGNED,
        "bands, scaled": ScaledToeplitz(SIGNED, STEPS, ROWS),
        "nu = 0.1": correlations.nu(0.1),
        "dense bands": correlations.banded(STEPS, 3),
    }


# --- the noise ---


def _drawn(stream: NoiseStream, draws: np.ndarray) -> np.ndarray:
    """The noise from draws (T, k), step by step as the libraries do it, from the exported numbers alone."""
    kept: list[np.ndarray] = []
    buffers = np.zeros((stream.buffers, draws.shape[1]))
    noise = []
    for t, draw in enumerate(draws):
        x = stream.before[t] * draw
        if stream.form == "blt":
            for omega, buffer in zip(np.asarray(stream.output_scale), buffers, strict=True):
                x = x - omega * buffer
            buffers = np.asarray(stream.buf_decay)[:, None] * buffers + x
        else:
            coefficients = np.asarray(stream.coefficients)
            bands = np.broadcast_to(coefficients, (len(draws), coefficients.shape[-1]))
            for k in range(1, min(t, bands.shape[1] - 1) + 1):
                x = x - bands[t - k, k] * kept[t - k]
            x = x / bands[t, 0]
            kept.append(x)
        noise.append(stream.after[t] * x)
    return np.array(noise)


def _noise(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    del rng  # unit impulses say everything
    for name, mechanism in _mechanisms().items():
        stream = noise_stream(mechanism, STEPS)
        yield Fact(f"noise from unit impulses, {name}", _drawn(stream, np.eye(STEPS)), mechanism.matrix(STEPS), 1e-12)
        yield Fact(f"C from what is exported, {name}", stream.encoder(), np.linalg.inv(mechanism.matrix(STEPS)), 1e-10)
        filters = stream.before[:, None] * np.linalg.inv(mechanism.matrix(STEPS)) * stream.after
        below = np.array(
            [[filters[i + k, i] if i + k < STEPS else 0.0 for k in range(stream.bands)] for i in range(STEPS)]
        )
        yield Fact(f"bands below each column, {name}", stream.columns(), below, 1e-10)
        yield Holds(f"scalings are handed on where there are some, {name}", stream.scaled == (name in SCALED))
        yield Fact(f"arrays kept, {name}", stream.buffers, KEPT[name], 0)
    yield from stream_forms(_mechanisms(), SCALED, STEPS)
    with tempfile.TemporaryDirectory() as folder:
        yield from _stored(Path(folder))


def _stored(folder: Path) -> Iterator[Fact | Holds]:
    for name, mechanism in _mechanisms().items():
        objective = Objective(np.array([1.0, 0.4]), STEPS, 0.3)
        twice = Participation.min_separation(2, 4)
        written = export(mechanism, STEPS, "npz", rho=0.3, participation=twice, objective=objective)
        (folder / "design.npz").write_bytes(archive(written))
        read = read_design(folder / "design.npz")
        yield Fact(f"C from the file, {name}", read.stream.encoder(), written.stream.encoder(), 0)
        yield Fact(f"noise multiplier from the file, {name}", read.noise_multiplier, written.noise_multiplier, 0)
        with np.load(folder / "design.npz", allow_pickle=False) as arrays:  # as another program reads it
            meta = json.loads(str(arrays["meta"]))
        yield Fact(f"noise multiplier in its text, {name}", meta["noise_multiplier"], written.noise_multiplier, 0)
        values = [written.value, written.unscaled_value]
        yield Fact(f"values from the file, {name}", [read.value, read.unscaled_value], values, 0)
        (folder / "design.json").write_text(json.dumps({"format": SAVED, "designed": saved(written)}))
        again = read_design(folder / "design.json")
        yield Fact(f"C from the saved file, {name}", again.stream.encoder(), written.stream.encoder(), 0)
        yield Holds(f"the same archive from it, {name}", archive(again) == archive(written))


def _modules(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    del rng
    yield from jax_module_facts(_mechanisms(), SCALED, STEPS)


NOISE = Claim(
    id="ftrl/beyond-design-export-noise",
    where=f"{OURS}: exported noise",
    kind="algorithm",
    statement=(
        (
            "What is exported (decays and scales of a BLT, coefficients or bands of $C$, scalings before and after) "
            "draws exactly $B w$, one draw a step, and so do recursions in buffers or bands;"
        ),
        "files give back what was written;",
        (
            "the module for jax_privacy makes $B$ of that library's filters, as they are defined, and says how often a "
            "record takes part."
        ),
    ),
    checks=(
        Agreement(decides="ab", facts=_noise, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="c", facts=_modules, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)


# --- what may be said of it ---


def _patterns(participation: Participation) -> Iterator[tuple[int, ...]]:
    """Steps that one record takes part in."""
    steps = range(STEPS)
    if participation.times == 1:
        yield from ((t,) for t in steps)
    else:
        yield from ((s, t) for s in steps for t in steps if t - s >= participation.separation)


def _by_hand(encoder: np.ndarray, participation: Participation) -> float:
    """s(C) over all patterns of at most two steps, gradients of either sign."""
    gram = np.abs(encoder.T @ encoder)
    return max(float(np.sqrt(gram[np.ix_(steps, steps)].sum())) for steps in _patterns(participation))


def _delta(z: float, epsilon: float) -> float:
    """Of one Gaussian event with noise multiplier z: P(L > epsilon) - e^epsilon P(L' > epsilon), L normal."""
    mu = 1.0 / z
    return float(ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))


def _privacy(rng: np.random.Generator) -> Iterator[Fact]:
    del rng
    rho, delta = 0.3, 1e-5
    objective = Objective(np.array([1.0, 0.4, 0.1]), STEPS, 0.3)
    for participation in (Participation.single(), Participation.min_separation(2, 4)):
        for name, mechanism in _mechanisms().items():
            found = export(mechanism, STEPS, "jax-privacy", rho=rho, participation=participation, objective=objective)
            label = f"{name}, {participation.times} participations"
            brute = _by_hand(np.linalg.inv(mechanism.matrix(STEPS)), participation)
            sigma = brute / np.sqrt(2 * rho)
            yield Fact(f"noise multiplier, {label}", found.noise_multiplier, sigma, 1e-9)
            yield Fact(
                f"delta at the epsilon stated, {label}", _delta(sigma / brute, found.epsilon(delta)), delta, 1e-9
            )
            yield Fact(f"rho, {label}", found.rho, rho, 1e-12)
            yield from _module(found, brute, rho, label)
            yield from _unscaled(found, mechanism, participation, objective, label)


def _module(found: Export, sensitivity: float, rho: float, label: str) -> Iterator[Fact]:
    """The numbers that stand in the modules, read as Python reads them."""
    for consumer in ("jax-privacy", "opacus"):
        code = exported_files(replace(found, consumer=consumer), "noise.py")["noise.py"].decode()
        numbers = {
            node.targets[0].id: ast.literal_eval(node.value)
            for node in ast.parse(code).body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, (ast.Constant, ast.List))
        }
        written = [numbers["STEPS"], numbers["SENSITIVITY"], numbers["EVENT_MULTIPLIER"]]
        yield Fact(f"numbers of the {consumer} module, {label}", written, [STEPS, sensitivity, (2 * rho) ** -0.5], 1e-9)
        if "BUF_DECAY" in numbers:
            blt = [numbers["BUF_DECAY"], numbers["OUTPUT_SCALE"]]
            yield Fact(f"BLT of the {consumer} module, {label}", blt, [list(BLT.buf_decay), list(BLT.output_scale)], 0)


def _unscaled(
    found: Export, mechanism: correlations.Correlation, participation: Participation, objective: Objective, label: str
) -> Iterator[Fact]:
    """The filter alone, and what both cost."""
    filters = mechanism.toeplitz if isinstance(mechanism, ScaledToeplitz) else mechanism
    encoder = np.linalg.inv(filters.matrix(STEPS))
    alone = _by_hand(encoder, participation)
    yield Fact(
        f"noise multiplier of the filter, {label}",
        found.unscaled_noise_multiplier / found.event_multiplier,
        alone,
        1e-9,
    )
    costs = [
        _by_hand(C, participation) ** 2 * np.trace(objective.gram() @ np.linalg.inv(C.T @ C))
        for C in (np.linalg.inv(mechanism.matrix(STEPS)), encoder)
    ]
    yield Fact(f"value with and without scalings, {label}", [found.value, found.unscaled_value], costs, 1e-8)


PRIVACY = Claim(
    id="ftrl/beyond-design-export-privacy",
    where=f"{OURS}: privacy of exported noise",
    kind="privacy",
    statement=(
        (
            r"A run with draws of standard deviation $sigma G_c$, $sigma = s(C) \/ sqrt(2 rho)$, is one Gaussian event "
            r"of noise multiplier $sigma \/ s(C)$ under zero-out adjacency, with the exact $epsilon$ of that event;"
        ),
        (
            r"a consumer that takes the Toeplitz filter alone needs $sigma = s(L) \/ sqrt(2 rho)$, at a cost that is "
            "stated."
        ),
    ),
    setting="$T = 11$; sensitivities over all patterns of one and of two steps at least 4 apart.",
    checks=(Agreement(decides="ab", facts=_privacy, impostors={"1 % off": {"facts": Times(1.01)}}),),
)


# --- inside the libraries ---


def _lacking(*modules: str) -> str:
    absent = [name for name in modules if find_spec(name) is None]
    return f"needs {', '.join(absent)}: `pip install 'dpbounds[exports]'`" if absent else ""


def no_jax_privacy() -> str:
    """Why jax_privacy is not at hand, or nothing."""
    return _lacking("jax_privacy")


def no_torch() -> str:
    """Why torch is not at hand, or nothing."""
    return _lacking("torch")


def _in_jax_privacy(rng: np.random.Generator) -> Iterator[Fact]:
    import jax  # pyright: ignore[reportMissingImports]
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]
    from jax_privacy.matrix_factorization import (  # pyright: ignore[reportMissingImports]
        buffered_toeplitz,
        streaming_matrix,
    )

    del rng
    with jax.enable_x64(True):
        for name in ("BLT", "BLT with unit columns", "scaled BLT"):
            found = export(_mechanisms()[name], STEPS, "jax-privacy")
            stream = found.stream
            theirs = buffered_toeplitz.BufferedToeplitz.build(
                buf_decay=stream.buf_decay, output_scale=stream.output_scale
            )
            noising = streaming_matrix.scale_rows_and_columns(
                theirs.inverse_as_streaming_matrix(),
                row_scale=jnp.asarray(stream.after),
                col_scale=jnp.asarray(stream.before),
            )
            yield Fact(
                f"noise, {name}", np.asarray(noising.materialize(STEPS)), _mechanisms()[name].matrix(STEPS), 1e-12
            )
            squared = float(buffered_toeplitz.sensitivity_squared(theirs, STEPS))
            yield Fact(f"sensitivity of the filter, {name}", float(found.unscaled_sensitivity), squared**0.5, 1e-12)


JAX_PRIVACY = Claim(
    id="ftrl/beyond-design-export-jax-privacy",
    where=f"{OURS}: export to jax_privacy",
    kind="algorithm",
    statement=(
        "Inside jax_privacy, `BufferedToeplitz` with its scaled rows and columns is the decoder designed, and its own "
        "sensitivity is ours."
    ),
    checks=(Agreement(facts=_in_jax_privacy, impostors={"1 % off": {"facts": Times(1.01)}}),),
    missing=no_jax_privacy,
)


def _opacus_module(name: str, folder: str) -> ModuleType:
    """The module as it is written for a user, run."""
    design = export(_mechanisms()[name], STEPS, "opacus", rho=0.3)
    for file, content in exported_files(design, str(Path(folder) / "noise.py")).items():
        Path(file).write_bytes(content)
    spec = spec_from_file_location("noise", Path(folder) / "noise.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _in_opacus(rng: np.random.Generator) -> Iterator[Fact]:
    """Two examples with gradients of length 10 and 1/2, clipped to 2; the same before and after a resumption."""
    import torch  # pyright: ignore[reportMissingImports]

    del rng
    gradients = torch.zeros(2, 50, dtype=torch.float64)
    gradients[0, 0], gradients[1, 1] = 10.0, 0.5

    def optimizer(module: ModuleType, seed: int) -> Any:
        parameter = torch.nn.Parameter(torch.zeros(50, dtype=torch.float64))
        generator, settings = torch.Generator().manual_seed(seed), {"max_grad_norm": 2.0, "loss_reduction": "sum"}
        wrapped = torch.optim.SGD([parameter], lr=1.0)
        return module.private(wrapped, expected_batch_size=None, generator=generator, **settings)

    def seen(made: Any, steps: int) -> np.ndarray:
        """What the wrapped optimiser is given."""
        rows = []
        for _ in range(steps):
            (parameter,) = made.params
            parameter.grad_sample = gradients.clone()
            made.step()
            rows.append(parameter.grad.numpy().copy())
            made.zero_grad()
        return np.array(rows)

    for name, mechanism in _mechanisms().items():
        generator = torch.Generator().manual_seed(1)
        draws = np.array(
            [torch.normal(0.0, 1.0, (50,), generator=generator, dtype=torch.float64).numpy() for _ in range(STEPS)]
        )
        sensitivity = float(np.linalg.norm(np.linalg.inv(mechanism.matrix(STEPS)), axis=0).max())
        expected = 2.0 * sensitivity / np.sqrt(0.6) * mechanism.matrix(STEPS) @ draws
        expected[:, 0] += 2.0
        expected[:, 1] += 0.5
        with tempfile.TemporaryDirectory() as folder:
            module = _opacus_module(name, folder)
            yield Fact(f"sums and noise, {name}", seen(optimizer(module, 1), STEPS), expected, 1e-12)
            first, second = optimizer(module, 1), optimizer(module, 2)
            seen(first, 4)
            second.load_state_dict(first.state_dict())
            yield Fact(f"of a resumed run, {name}", seen(second, STEPS - 4), expected[4:], 1e-12)


OPACUS = Claim(
    id="ftrl/beyond-design-export-opacus",
    where=f"{OURS}: export to Opacus",
    kind="algorithm",
    statement=(
        "The optimiser of the module that is written for Opacus adds $sigma G_c B w$, $w$ its own draws, to the sums "
        "of gradients clipped to $G_c$, for every form of mechanism, and a run that is resumed from its state dict "
        "goes on with the same noise."
    ),
    checks=(Agreement(facts=_in_opacus, impostors={"1 % off": {"facts": Times(1.01)}}),),
    missing=no_torch,
)
