"""The command line: arguments here, one module per command, loaded when it runs.

Exit status: 0 as expected, 1 a verdict differs from the reviewed one, 2 bad input, 3 a computation failed.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

LEVELS = ("quick", "full", "paper")
STORE = "dpbounds-results"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line instead of the usage."""
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = parser().parse_args(argv)
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        stored = "; what was computed is stored, go on with --resume" if arguments.module == "verifying" else ""
        print(f"dpbounds: interrupted{stored}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        sys.stderr.close()
        return 0


def _run(arguments: argparse.Namespace) -> int:
    """Load the command, which takes a second, and run it."""
    command = importlib.import_module(f"verify.cli.{arguments.module}")
    from dpbounds import AccuracyError, DomainError

    try:
        return command.run(arguments)
    except DomainError as error:
        print(f"dpbounds: {error}", file=sys.stderr)
        return 2
    except AccuracyError as error:
        print(f"dpbounds: {error}", file=sys.stderr)
        return 3


def parser() -> argparse.ArgumentParser:
    """All commands and their arguments."""
    top = _Parser(prog="dpbounds", description="The theory of differentially private learning, decided claim by claim.")
    top.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_list(commands)
    _add_verify(commands)
    _add_solve(commands)
    _add_report(commands)
    return top


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        parser.exit(0, f"dpbounds {version('dpbounds')}\n")


def _add_list(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("list", help="claims, with kind, level and last verdict")
    command.set_defaults(module="listing")
    command.add_argument("names", nargs="*", metavar="TOPIC|CLAIM", help="a topic or a claim (default: all)")
    _add_store(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _add_verify(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("verify", help="decide claims from computed evidence")
    command.set_defaults(module="verifying")
    command.add_argument("names", nargs="*", metavar="TOPIC|CLAIM", help="topics or claims (default: all)")
    command.add_argument("--level", choices=LEVELS, default="quick", help="how much to compute (default: quick)")
    command.add_argument("--seed", type=_seed, default=0, help="same seed, same numbers (default: 0)")
    command.add_argument("--jobs", type=int, help="worker processes (default: one per processor)")
    command.add_argument("--scheduler", metavar="ADDRESS", help="compute on a dask scheduler, tcp://host:port")
    command.add_argument(
        "--shard", type=_shard, metavar="I/N", help="compute part I of N only (I from 0); join with --resume"
    )
    command.add_argument("--data-dir", metavar="DIR", help="folder of your own data sets, which some claims use")
    _add_store(command)
    command.add_argument("--resume", action="store_true", help="keep the results that the store already has")
    command.add_argument(
        "--impostors", action="store_true", help="run the deliberately wrong versions and count those caught"
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def _add_solve(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("solve", help="evaluate bounds and exact values, or prove saved bounds again")
    solving = importlib.import_module("verify.cli.solve.arguments")
    solving.add_check(command)
    topics = command.add_subparsers(title="topics", metavar="TOPIC")
    solving.add_ftrl(topics)
    importlib.import_module("verify.cli.solve.iv_arguments").add_iv(topics)


def _add_report(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("report", help="make the PDF of theory against simulation")
    command.set_defaults(module="reporting")
    command.add_argument(
        "--results", metavar="FILE", default=f"{STORE}/results.json", help="results of verify (default: %(default)s)"
    )
    command.add_argument("--topic", action="append", help="only this topic (may be given more than once)")
    command.add_argument("--out", required=True, metavar="FILE.pdf", help="where to write")


def _add_store(command: argparse.ArgumentParser) -> None:
    command.add_argument("--store", default=STORE, metavar="DIR", help="folder of results (default: %(default)s)")


def _seed(text: str) -> int:
    if not text.isdigit() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to 4294967295")
    return int(text)


def _shard(text: str) -> tuple[int, int]:
    part, _, whole = text.partition("/")
    if not (part.isdigit() and whole.isdigit() and int(part) < int(whole)):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form I/N with 0 <= I < N, such as 0/2")
    return int(part), int(whole)
