"""`--export`: a designed mechanism as files for a training library.

- `npz`: the arrays and numbers, read back by `simulators.ftrl.design_files.read_design`;
- `jax-privacy`: a module that builds jax_privacy's noising matrix and privatizer, and the archive of its scalings;
- `opacus`: a module that wraps an optimiser, and the archive that it reads.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.best import Design
from dpbounds.ftrl.design.exports import Consumer, Export
from dpbounds.ftrl.design.exports import export as exported
from simulators.ftrl.design_files import design_bytes
from verify.running.store import write_whole

SUFFIXES = {"npz": ".npz", "jax-privacy": ".py", "opacus": ".py"}


def export(design: Correlation | Design, consumer: Consumer, path: str | Path, **options: Any) -> list[Path]:
    """Write a design, or a mechanism with the `steps` it is for, for a consumer; the files written, modules first.

    `options` are those of `dpbounds.ftrl.design.exports.export`: rho or event_multiplier, and for a mechanism alone
    steps, participation and objective. Beside a module stands its archive, of the same name with `.npz`. Raises
    `DomainError` for another suffix than the consumer's, and where nothing can be written.
    """
    if isinstance(design, Design):
        known = {"participation": design.participation, "objective": design.objective}
        return write(exported(design.mechanism, design.objective.steps, consumer, **{**known, **options}), path)
    steps = options.pop("steps")
    return write(exported(design, steps, consumer, **options), path)


def write(design: Export, path: str | Path) -> list[Path]:
    """The files of an export, each written whole or not at all, the archive before the module that reads it."""
    contents = files_of(design, path)
    try:
        for file, content in contents.items():
            write_whole(file, content)
    except OSError as error:
        raise DomainError("out", path, f"a file that can be written ({error.strerror})") from None
    return list(reversed(contents))


def files_of(design: Export, path: str | Path) -> dict[Path, bytes]:
    """What goes into which file, in the order in which they are to be written: the archive, then the module, if any."""
    path = check_out(design.consumer, path)
    archive = path.with_suffix(".npz")
    contents = {archive: design_bytes(design)}
    if path != archive:
        contents[path] = source(design, archive.name).encode()
    return contents


def check_out(consumer: Consumer, path: str | Path) -> Path:
    """Raise `DomainError` for another suffix than the consumer's: `.npz`, or `.py` for a library's module."""
    path, suffix = Path(path), SUFFIXES[consumer]
    if path.suffix != suffix:
        raise DomainError("out", path, f"a file that ends in {suffix} for {consumer}")
    return path


def source(design: Export, archive: str) -> str:
    """The module for a training library, that reads `archive` beside it."""
    return _opacus(design, archive) if design.consumer == "opacus" else _jax_privacy(design, archive)


def _about(design: Export) -> str:
    stream, participation = design.stream, design.participation
    often = "once at most"
    if participation.times > 1:
        gap = "at least" if participation.kind == "min-separation" else "exactly"
        often = f"{participation.times} times at most, {gap} {participation.separation} steps apart"
    name = " ".join(stream.name.replace("\\", "/").replace('"', "'").split())  # inside a string of the module
    return (
        f"{name}, for {stream.steps} steps and no more.\n\n"
        f"A record takes part {often}; no Poisson sampling.\n"
        f"Privacy of the whole run, {design.adjacency} adjacency, is that of one Gaussian event with noise multiplier\n"
        f"{design.event_multiplier!r} ({design.rho:.6g}-zCDP). Made by `dpbounds design ftrl --export`."
    )


def _numbers(design: Export) -> str:
    kind = design.sensitivity.kind
    return (
        f"STEPS = {design.stream.steps}\n"
        "# Noise standard deviation over sensitivity of the one event of the run.\n"
        f"EVENT_MULTIPLIER = {design.event_multiplier!r}\n"
        f"# Of C, in clip norms ({kind}: {design.sensitivity.source}).\n"
        f"SENSITIVITY = {float(design.sensitivity)!r}\n"
        "# Standard deviation of one draw over the clip norm, for SUMS of clipped gradients.\n"
        "NOISE_MULTIPLIER = EVENT_MULTIPLIER * SENSITIVITY\n"
    )


def _opacus(design: Export, archive: str) -> str:
    return f'''"""Noise for Opacus: {_about(design)}
"""

from pathlib import Path

from simulators.ftrl.design_files import read_design
from simulators.ftrl.opacus import DesignedNoiseOptimizer

{_numbers(design)}

def private(optimizer, *, max_grad_norm, expected_batch_size, **options):
    """The optimiser of a `GradSampleModule` with the designed noise, in place of `PrivacyEngine.make_private`."""
    design = read_design(Path(__file__).with_name({archive!r}))
    return DesignedNoiseOptimizer(
        optimizer, design=design, max_grad_norm=max_grad_norm, expected_batch_size=expected_batch_size, **options
    )


def epsilon(delta):
    """Of the whole run."""
    return read_design(Path(__file__).with_name({archive!r})).epsilon(delta)
'''


def _jax_privacy(design: Export, archive: str) -> str:
    imports, constants, build = _jax_filter(design)
    loads = (
        f"    arrays = np.load(Path(__file__).with_name({archive!r}), allow_pickle=False)\n"
        if "arrays" in build
        else ""
    )
    paths = "from pathlib import Path\n\n" if loads else ""
    numpy = "import numpy as np\n" if loads else ""
    return f'''"""Noise for jax_privacy: {_about(design)}
"""

{paths}import dp_accounting
import jax
import jax.numpy as jnp
{numpy}from jax_privacy import noise_addition
from jax_privacy.matrix_factorization import {imports}

{_numbers(design)}{constants}

def noising_matrix():
    """C^-1 as a streaming matrix; in float64 where jax_enable_x64 is set, which is recommended, else in float32."""
    dtype = jnp.float64 if jax.config.jax_enable_x64 else jnp.float32
{loads}    with jax.ensure_compile_time_eval():  # also inside jit: their BLT cannot be traced
{indent(build, "    ")}

def privatizer(clip_norm, prng_key=None):
    """Adds the noise to sums of gradients clipped to `clip_norm`. Stop after STEPS steps."""
    return noise_addition.matrix_factorization_privatizer(
        noising_matrix(), stddev=NOISE_MULTIPLIER * clip_norm, prng_key=prng_key
    )


def event():
    """The whole run, for an accountant; neighbours under zero-out adjacency."""
    return dp_accounting.GaussianDpEvent(EVENT_MULTIPLIER)
'''


def _jax_filter(design: Export) -> tuple[str, str, str]:
    """What to import, constants, and the lines that build C^-1."""
    stream = design.stream
    before, after = ("before" if np.any(stream.before != 1.0) else ""), "after" if np.any(stream.after != 1.0) else ""
    if stream.form == "blt":
        name, constants = "buffered_toeplitz", _blt_constants(design)
        build = (
            "    blt = buffered_toeplitz.BufferedToeplitz.build(\n"
            "        buf_decay=BUF_DECAY, output_scale=OUTPUT_SCALE, dtype=dtype\n    )\n"
            "    inverse = blt.inverse_as_streaming_matrix()\n"
        )
    elif stream.form == "toeplitz":
        name, constants = "toeplitz", ""
        build = '    inverse = toeplitz.inverse_as_streaming_matrix(jnp.asarray(arrays["coefficients"], dtype=dtype))\n'
    else:
        name, constants, after = "banded", "", "columns"
        build = (
            '    columns = arrays["coefficients"]\n'
            "    # That class makes the columns of C unit vectors: what it divided by is put back.\n"
            "    lengths = np.linalg.norm(columns, axis=1)\n"
            "    banded_inverse = banded.ColumnNormalizedBanded(params=jnp.asarray(columns, dtype=dtype))\n"
            "    inverse = banded_inverse.inverse_as_streaming_matrix()\n"
        )
    if not (before or after):
        return name, constants, build + "    return inverse\n"
    rows = {"": "None", "after": 'jnp.asarray(arrays["after"], dtype=dtype)'}.get(
        after, 'jnp.asarray(arrays["after"] / lengths, dtype=dtype)'
    )
    columns = 'jnp.asarray(arrays["before"], dtype=dtype)' if before else "None"
    build += (
        "    return streaming_matrix.scale_rows_and_columns(\n"
        f"        inverse,\n        row_scale={rows},\n        col_scale={columns},\n    )\n"
    )
    return f"{name}, streaming_matrix", constants, build


def _blt_constants(design: Export) -> str:
    stream = design.stream
    assert stream.buf_decay is not None and stream.output_scale is not None
    lines = f"BUF_DECAY = {stream.buf_decay.tolist()!r}\nOUTPUT_SCALE = {stream.output_scale.tolist()!r}\n"
    if stream.scaled:
        lines += (
            "# For a consumer that takes these two and not the scalings: the sensitivity of the BLT alone.\n"
            f"UNSCALED_SENSITIVITY = {float(design.unscaled_sensitivity)!r}\n"
        )
    if design.value is not None and design.unscaled_value is not None:
        lines += (
            f"# Noise in the loss, with the scalings and without: {design.value:.6g}, {design.unscaled_value:.6g}.\n"
        )
    return lines
