"""`dpbounds design ftrl --saved FILE --export ...`: a design that was saved, for another library."""

from __future__ import annotations

import argparse
from argparse import Namespace
from dataclasses import replace

from dpbounds import DomainError
from dpbounds.ftrl.design.exports import Export
from dpbounds.ftrl.design.exports.files import file_names
from simulators.ftrl.design_files import read_design
from verify.cli.console import print_json
from verify.cli.design.ftrl import outputs
from verify.cli.design.ftrl.arguments import add_arguments
from verify.cli.design.ftrl.problem import check
from verify.cli.solve.ftrl.show import print_sentences

# What goes with --saved; everything else is the design's own.
TOGETHER = ("saved", "export", "out", "json")


def run(arguments: Namespace) -> int:
    """Read, write and say what was written."""
    _check_alone(arguments)
    if arguments.export is None:
        raise DomainError("export", None, "given with --saved", "and a file with --out")
    check(arguments)
    design = replace(_read(arguments.saved), consumer=arguments.export)
    outputs.write_export(design, arguments)
    written = list(file_names(design.consumer, arguments.out))
    if arguments.json:
        print_json([{"files": written, **_promised(design)}])
    else:
        print_sentences([f"{' and '.join(written)}: {_said(design)}"])
    return 0


def _read(file: str) -> Export:
    """The design in a file; an error names the option."""
    try:
        return read_design(file)
    except DomainError as error:
        said = error.remedy if error.parameter == "design" else str(error)
        raise DomainError("saved", file, "a file written by --save or --export", said) from None


def _check_alone(arguments: Namespace) -> None:
    """`DomainError` for options that describe another design."""
    parser = argparse.ArgumentParser(add_help=False)
    add_arguments(parser)
    for name, default in vars(parser.parse_args([])).items():
        value = getattr(arguments, name)
        if name not in TOGETHER and value != default:
            raise DomainError(name, value, "left out with --saved", "the design has its own")


def _promised(design: Export) -> dict[str, object]:
    return {
        "name": design.stream.name,
        "steps": design.stream.steps,
        "noise_multiplier": design.noise_multiplier,
        "event_multiplier": design.event_multiplier,
        "rho": design.rho,
    }


def _said(design: Export) -> str:
    return (
        f"{design.stream.name} noise of {design.stream.steps} steps, noise_multiplier = {design.noise_multiplier:.6g}, "
        f"rho = {design.rho:.6g} as the file says: dpbounds audit --coefficients decides that from the archive."
    )
