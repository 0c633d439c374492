"""`dpbounds audit`: does a mechanism keep its promise? Arguments in, verdict out."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from dpbounds import DomainError
from dpbounds.audit import Audit, audit, evaluated, event_of, promise_of, rerun
from simulators.audit.files import coefficients_in, domain_of, law_in_words, mechanism_in
from verify.cli import files
from verify.cli.console import print_json, progress

# Exit statuses by verdict; 3 is a mechanism that failed.
STATUS = {"consistent": 0, "proved": 0, "refuted": 1, "law differs": 1, "unclear": 4}
FAILED = 3
_JSON = "a file of JSON data"
# Bytes of a witness: a pair of data sets stands in it.
LARGEST_WITNESS = 100_000_000


def run(arguments: Namespace) -> int:
    """Audit a function, coefficients or an event, or evaluate a witness again."""
    ways = [arguments.mechanism, arguments.coefficients, arguments.event, arguments.check]
    again = arguments.check is not None and arguments.mechanism is not None
    if sum(way is not None for way in ways) != 1 + again:
        allowed = "one of FILE.py:NAME, --coefficients FILE, --event FILE and --check FILE"
        raise DomainError("mechanism", [way for way in ways if way is not None] or None, allowed)
    if arguments.check is not None:
        return _check(arguments)
    for option in ("save", "plot", "report"):
        files.check_target(option, getattr(arguments, option))
    if arguments.report is not None and not arguments.report.lower().endswith(".pdf"):
        raise DomainError("report", arguments.report, "a file name that ends in .pdf")
    found = _audited(arguments)
    if arguments.save is not None and found.witness is not None:
        named = {} if arguments.mechanism is None else {"mechanism": arguments.mechanism}
        files.write("save", arguments.save, json.dumps({**found.witness, **named}).encode())
    if arguments.plot is not None:
        _plot(found, arguments.plot)
    if arguments.report is not None:
        files.write("report", arguments.report, _page(found))
    if arguments.json:
        print_json(found.row())
    else:
        print(found.text)
    return FAILED if found.failed else STATUS[found.verdict]


def _audited(arguments: Namespace) -> Audit:
    adjacency: Any = arguments.adjacency
    if arguments.coefficients is not None:
        content = files.read_bytes("coefficients", arguments.coefficients, "a .npz file")
        mechanism, own = coefficients_in(content, arguments.coefficients)
        adjacency = adjacency or own
        return audit(mechanism, _claim(arguments), adjacency=adjacency)
    if arguments.event is not None:
        return _of_event(arguments)
    if arguments.domain is None:
        raise DomainError("domain", None, 'given, such as --domain "4x2,0,1"')
    mechanism = mechanism_in(arguments.mechanism)
    domain, law = domain_of(arguments.domain), law_in_words(arguments.law)
    with progress("audit") as shown:
        return audit(
            mechanism,
            _claim(arguments),
            adjacency=adjacency,
            domain=domain,
            law=law,
            seconds=arguments.seconds,
            seed=arguments.seed,
            progress=shown,
        )


def _of_event(arguments: Namespace) -> Audit:
    content = _read("event", arguments.event)
    if not isinstance(content, dict):
        raise DomainError("event", arguments.event, _JSON)
    claim = content.pop("claim", None) if arguments.epsilon is arguments.rho is arguments.mu is None else None
    adjacency = content.pop("adjacency", None)
    claim = _claim(arguments) if claim is None else promise_of(claim)
    return audit(event_of(content.get("event", content)), claim, adjacency=arguments.adjacency or adjacency)


def _check(arguments: Namespace) -> int:
    """The numbers of a witness evaluated again, and measured again first where a mechanism is named."""
    content, words = _read("check", arguments.check), "its numbers were taken as they are, and nothing was run"
    if arguments.mechanism is not None:
        found = rerun(content, mechanism_in(arguments.mechanism), seconds=arguments.seconds)
        if found.content is None:
            _print_check(arguments, {"verdict": "unclear", "words": found.words}, f"unclear: {found.words}.")
            return FAILED if found.failed else STATUS["unclear"]
        content, words = (
            found.content,
            f"{arguments.mechanism} was run again on its pair, its noise read by the law of the witness",
        )
        words = f"{words}; {found.words}" if found.words else words
    told = evaluated(content)
    word = "refuted" if told.refuted else "not refuted"
    row = {"verdict": word, "spent": told.spent, "claim": told.claim.content(), "words": f"{told.words}; {words}"}
    _print_check(
        arguments, row, f"{word}: {told.claim.text}; {told.spent:.6g} follows from the witness: {told.words}; {words}."
    )
    return 1 if told.refuted else 0


def _print_check(arguments: Namespace, row: dict[str, Any], text: str) -> None:
    if arguments.json:
        print_json(row)
    else:
        print(text)


def _claim(arguments: Namespace) -> Any:
    given = {
        name: getattr(arguments, name) for name in ("epsilon", "rho", "mu") if getattr(arguments, name) is not None
    }
    if arguments.delta is not None:
        given["delta"] = arguments.delta
    return promise_of(given)


def _read(option: str, file: str) -> Any:
    try:
        return json.loads(files.read(option, file, _JSON, LARGEST_WITNESS))
    except (ValueError, RecursionError) as error:
        if isinstance(error, DomainError):
            raise
        raise DomainError(option, Path(file), _JSON, " ".join(str(error).split())) from None


def _page(found: Audit) -> bytes:
    from reports.audit import page

    return page({**found.row(), "curves": found.curves(), "witness": found.witness})


def _plot(found: Audit, file: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    figure = found.plot().figure
    try:
        figure.savefig(file)
    except ValueError as error:  # a suffix that is no format
        raise DomainError("plot", Path(file), "a file of a format that can be drawn", str(error)) from None
    print(f"{file}: the curve claimed and the curve found", file=sys.stderr)
