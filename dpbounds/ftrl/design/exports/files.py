"""The files of an exported design: an archive, and for a training library a module that reads it.

Modules are templates that are filled: their code stands in `templates`, this file only says with what.

>>> from dpbounds.ftrl.design.exports.records import export
>>> from dpbounds.ftrl.design.mechanisms import Blt
>>> list(exported_files(export(Blt((0.5,), (0.25,)), 8, "opacus", rho=0.5), "noise.py"))
['noise.npz', 'noise.py']
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import PurePath
from string import Template
from textwrap import fill

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.design.exports.archives import archive
from dpbounds.ftrl.design.exports.records import Consumer, Export
from dpbounds.ftrl.design.streams import Form, NoiseStream

SUFFIXES: dict[Consumer, str] = {"npz": ".npz", "jax-privacy": ".py", "opacus": ".py"}
# The package whose data the templates are.
HOME = "dpbounds.ftrl.design.exports"
# What jax_privacy calls each form of filter, and the template that builds it.
FILTERS: dict[Form, tuple[str, str]] = {
    "blt": ("buffered_toeplitz", "jax_blt.py"),
    "toeplitz": ("toeplitz", "jax_toeplitz.py"),
    "columns": ("banded", "jax_columns.py"),
}


@typed
def exported_files(design: Export, name: str) -> dict[str, bytes]:
    """The content of each file by its name, in the order in which they are to be written: the archive, then the module
    that reads it, if the consumer takes one.

    `name` ends in the consumer's suffix, `.npz` for arrays and `.py` for a library; the archive of a module has the
    same name with `.npz`. Modules are compiled before they are handed on. Raises `DomainError` for another suffix and
    for a name that no module can hold.
    """
    beside, *modules = file_names(design.consumer, name)
    _check_name(name)
    code = {module: _compiled(source(design, PurePath(beside).name), module) for module in modules}
    return {beside: archive(design), **code}


def _compiled(code: str, module: str) -> bytes:
    """The module in UTF-8. Raises `AccuracyError` where it is no Python, which would be a mistake of ours."""
    try:
        compile(code, module, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise AccuracyError(f"export: the module {module} does not compile ({error}); please report this") from None
    return code.encode()


def _check_name(name: str) -> None:
    if "\0" in name or any(0xD800 <= ord(character) <= 0xDFFF for character in name):
        raise DomainError("out", ascii(name), "a name without NUL and lone surrogates")


@typed
def file_names(consumer: Consumer, name: str) -> tuple[str, ...]:
    """The files of an export called `name`: the archive, then the module if the consumer takes one.

    Raises `DomainError` for another suffix than the consumer's.
    """
    path = PurePath(name)
    if path.suffix != SUFFIXES[consumer]:
        raise DomainError("out", name, f"a file that ends in {SUFFIXES[consumer]} for {consumer}")
    beside = path.with_suffix(SUFFIXES["npz"])
    return (str(beside),) if path == beside else (str(beside), str(path))


@typed
def source(design: Export, archive: str) -> str:
    """The module for a training library, that reads the file `archive` beside it."""
    common = {"about": _about(design), "numbers": _numbers(design), "archive": repr(archive)}
    if design.consumer == "opacus":
        return _filled("opacus.py", **common)
    stream = design.stream
    before, after = _scalings(stream)
    module, build = FILTERS[stream.form]
    built = _filled(build) + _returned(stream)
    reads = "arrays[" in built
    return _filled(
        "jax_privacy.py",
        **common,
        paths="from pathlib import Path\n" if reads else "",
        numpy="import numpy as np\n" if reads else "",
        loads=_filled("jax_loads.py", **common) if reads else "",
        imports=f"{module}, streaming_matrix" if before or after else module,
        constants=_blt_constants(design),
        build=built,
    )


def _about(design: Export) -> str:
    """What stands in the docstring of a module; a name cannot end it, or begin a line."""
    stream, participation = design.stream, design.participation
    often = "once at most"
    if participation.times > 1:
        gap = "at least" if participation.kind == "min-separation" else "exactly"
        often = f"{participation.times} times at most, {gap} {participation.separation} steps apart"
    return _filled(
        "about",
        name=" ".join(stream.name.replace("\\", "/").replace('"', "'").split()),
        steps=stream.steps,
        often=often,
        adjacency=design.adjacency,
        event_multiplier=_literal(design.event_multiplier),
        rho=f"{design.rho:.6g}",
    ).removesuffix("\n")


def _numbers(design: Export) -> str:
    rates = design.learning_rates
    return _filled(
        "numbers.py",
        steps=design.stream.steps,
        event_multiplier=_literal(design.event_multiplier),
        kind=design.sensitivity.kind,
        source=design.sensitivity.source.encode("unicode_escape").decode("ascii"),  # stays on its line
        sensitivity=_literal(design.sensitivity),
        clip_norm=_literal(design.clip_norm),
        batch_size=_literal(design.batch_size),
        eta=_literal(None if rates is None else rates[0]),
        learning_rates="None" if rates is None else _listed(rates),
    )


def _literal(number: float | None) -> str:
    """As Python writes it, without NumPy's names."""
    return repr(number if number is None or isinstance(number, int) else float(number))


def _listed(numbers: np.ndarray) -> str:
    """A list of literals, in lines."""
    text = ", ".join(_literal(number) for number in numbers.tolist())
    return "[\n" + fill(text, 110, initial_indent="    ", subsequent_indent="    ") + "\n]"


def _scalings(stream: NoiseStream) -> tuple[bool, bool]:
    """Whether draws are scaled, and what comes out; jax_privacy's own class scales the columns of a dense filter."""
    return bool(np.any(stream.before != 1.0)), bool(stream.form == "columns" or np.any(stream.after != 1.0))


def _returned(stream: NoiseStream) -> str:
    """The lines that hand on the filter, between its scalings."""
    before, after = _scalings(stream)
    if not (before or after):
        return _filled("jax_plain.py")
    lengths = " / lengths" if stream.form == "columns" else ""
    return _filled(
        "jax_scaled.py",
        rows=f'jnp.asarray(arrays["after"]{lengths}, dtype=dtype)' if after else "None",
        columns='jnp.asarray(arrays["before"], dtype=dtype)' if before else "None",
    )


def _blt_constants(design: Export) -> str:
    """The numbers of a BLT, and what they are worth without the scalings."""
    stream = design.stream
    if stream.buf_decay is None or stream.output_scale is None:
        return ""
    lines = _filled(
        "jax_blt_constants.py",
        buf_decay=_listed(stream.buf_decay),
        output_scale=_listed(stream.output_scale),
    )
    if stream.scaled:
        lines += _filled("jax_unscaled.py", unscaled_sensitivity=_literal(design.unscaled_sensitivity))
    if design.value is not None and design.unscaled_value is not None:
        values = {"value": f"{design.value:.6g}", "unscaled_value": f"{design.unscaled_value:.6g}"}
        lines += _filled("jax_values.py", **values)
    return lines


@cache
def _template(name: str) -> Template:
    return Template((files(HOME) / "templates" / f"{name}.txt").read_text(encoding="utf-8"))


def _filled(template: str, /, **fields: object) -> str:
    """The template with its fields; what stands in them is not looked at again."""
    return _template(template).substitute(fields)
