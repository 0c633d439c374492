"""The command line: arguments here, one module per command, loaded when it runs.

Exit status: 0 as expected, 1 a verdict differs from the reviewed one, 2 bad input, 3 a computation failed; `audit` has
its own.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from verify.running.registry import Command

LEVELS = ("quick", "full", "paper")
STORE = "dpbounds-results"
EXPORTS = ("junit", "sarif")
# Commands whose arguments the topics give.
OF_TOPICS = ("solve", "design", "fit")
# There are some thousand tasks: a shard beyond would have nothing to do.
MOST_SHARDS = 1000
# Of 32 bits.
LARGEST_SEED = 4_294_967_295
NAMES = (
    'topics or claims: an id, its beginning (iv/lem-), a pattern ("ftrl/thm-2.*") or a place in the paper '
    '("Theorem 2.1", "iv/Lemma D.4", "Fig. 3", "eq. (7)"); default: all'
)


# Linear algebra on one thread, before numpy is loaded: the last bits then do not depend on the machine's cores, and on
# problems of this size threads wait for each other longer than they work.
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line instead of the usage."""
        self.exit(2, f"{self.prog}: {printable(message)} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    words = sys.argv[1:] if argv is None else argv
    for name in THREADS:
        os.environ.setdefault(name, "1")
    if "_ARGCOMPLETE" in os.environ:
        importlib.import_module("verify.cli.completing").complete()
    try:
        status = _run(words)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        stored = "; what was computed is stored, go on with --resume" if list(words[:1]) == ["verify"] else ""
        print(f"dpbounds: interrupted{stored}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        sys.stderr.close()
        return 0
    except OSError as error:  # a file that no command looked at itself, or standard output on a full disk
        place = f"{error.filename}: " if error.filename else ""
        print(f"dpbounds: {printable(f'{place}{error.strerror or error}')}", file=sys.stderr)
        return 2


def _run(words: Sequence[str]) -> int:
    """Load the command, which takes a second, and run it; help is shown without."""
    arguments = None if set(OF_TOPICS) & set(words) else parser().parse_args(words)
    from dpbounds import AccuracyError, DomainError

    message = ""
    try:
        arguments = arguments or parser(words).parse_args(words)
        return importlib.import_module(arguments.module).run(arguments)
    except (DomainError, AccuracyError) as error:
        message = printable(str(error))
        print(f"dpbounds: {message}", file=sys.stderr)
        return 2 if isinstance(error, DomainError) else 3
    finally:
        _say_broken(message)


def _say_broken(message: str) -> None:
    """Name the topics of other packages that could not be loaded, unless the message before said so."""
    registry = sys.modules.get("verify.running.registry")
    for name, reason in registry.broken_topics().items() if registry else ():
        if (said := printable(reason)) not in message:
            print(f"dpbounds: topic {printable(name)} is left out: {said}", file=sys.stderr)


def printable(text: str) -> str:
    """One line that a terminal shows as it is: characters that control it are written out."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def parser(words: Sequence[str] = ()) -> argparse.ArgumentParser:
    """All commands and their arguments, as far as these words of the command line ask for them."""
    top = _Parser(prog="dpbounds", description="The theory of differentially private learning, decided claim by claim.")
    top.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_list(commands)
    _add_verify(commands)
    _add_solve(commands, words)
    _add_design(commands, words)
    _add_fit(commands, words)
    _add_audit(commands)
    _add_report(commands)
    _add_new_paper(commands)
    return top


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        parser.exit(0, f"dpbounds {version('dpbounds')}\n")


class _Export(argparse.Action):
    """Formats and files, checked before anything is computed."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        form, file = values or ("", "")
        if form not in EXPORTS:
            parser.error(f"argument --export: {form!r} is not one of {', '.join(EXPORTS)}")
        setattr(namespace, self.dest, [*(getattr(namespace, self.dest) or []), (form, file)])


def _add_list(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("list", help="claims, with kind, level and last verdict")
    command.set_defaults(module="verify.cli.listing")
    command.add_argument("names", nargs="*", metavar="TOPIC|CLAIM", help=NAMES)
    _add_store(command)
    command.add_argument("--json", action="store_true", help="print JSON")


def _add_verify(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("verify", help="decide claims from computed evidence")
    command.set_defaults(module="verify.cli.verifying")
    command.add_argument("names", nargs="*", metavar="TOPIC|CLAIM", help=NAMES)
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
    command.add_argument(
        "--proofs",
        metavar="DIR",
        help="write proof files of certified claims into this folder instead; verify/proof_checker.py checks them",
    )
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument(
        "--export",
        nargs=2,
        action=_Export,
        metavar=("FORMAT", "FILE"),
        help="also write the verdicts for a CI system: junit or sarif, and the file (may be given more than once)",
    )


def _add_solve(commands: argparse._SubParsersAction, words: Sequence[str]) -> None:
    """With a topic, or with --check and none."""
    command = commands.add_parser("solve", help="evaluate bounds and exact values, or prove saved bounds again")
    command.set_defaults(module="verify.cli.solve.checking")
    command.add_argument("--check", metavar="FILE", help="prove the bounds of a saved file again, without a solver")
    command.add_argument("--json", action="store_true", help="print JSON")
    if "solve" in words:
        _add_topics(command, words, "solve")


def _add_design(commands: argparse._SubParsersAction, words: Sequence[str]) -> None:
    """With a topic."""
    command = commands.add_parser("design", help="design an algorithm for a given run, with proof of how good it is")
    if "design" in words:
        _add_topics(command, words, "design").required = True


def _add_fit(commands: argparse._SubParsersAction, words: Sequence[str]) -> None:
    """With a topic."""
    command = commands.add_parser("fit", help="one private release from your own records, and its model")
    if "fit" in words:
        _add_topics(command, words, "fit").required = True


def _add_topics(command: argparse.ArgumentParser, words: Sequence[str], name: Command) -> argparse._SubParsersAction:
    """The topics that have this command; the arguments of one are loaded if the command line names it."""
    from verify.running.registry import check_loaded, module_of, topics

    choices = command.add_subparsers(title="topics", metavar="TOPIC")
    known = topics()
    check_loaded(words)
    for topic in known.values():
        module = getattr(topic, name)
        if module:
            own = choices.add_parser(topic.name, help=topic.summary)
            own.set_defaults(module=module)
            if topic.name in words:
                module_of(topic, name).add_arguments(own)
    return choices


def _add_audit(commands: argparse._SubParsersAction) -> None:
    description = (
        "Does a mechanism keep its promise? Exit status: 0 consistent or proved, 1 refuted or another law than "
        "declared, 2 bad input, 3 the mechanism failed, 4 unclear."
    )
    command = commands.add_parser("audit", help="does a mechanism keep its promise?", description=description)
    command.set_defaults(module="verify.cli.auditing")
    command.add_argument("mechanism", nargs="?", metavar="FILE.py:NAME", help="a function run(data, seed), run apart")
    command.add_argument("--coefficients", metavar="FILE.npz", help="noise coefficients, as design ftrl exports them")
    command.add_argument("--event", metavar="FILE.json", help="what an accountant was told; no mechanism is run")
    command.add_argument(
        "--check",
        metavar="FILE.json",
        help="evaluate a saved witness again, without the search; with FILE.py:NAME measure its numbers anew",
    )
    for name in ("epsilon", "delta", "rho", "mu"):
        command.add_argument(f"--{name}", type=float, help="of the claim, for one release of all that is returned")
    adjacencies = ("zero-out", "add-remove", "replace-one")
    command.add_argument(
        "--adjacency", choices=adjacencies, help="what neighbouring data sets are; there is no default"
    )
    command.add_argument("--domain", help='shape, least and largest number: "4x2,0,1"; or a .npy file, an example')
    command.add_argument("--law", default="unknown", help="gaussian[:STD], laplace[:B], discrete or unknown (default)")
    command.add_argument("--seconds", type=float, default=30.0, help="the budget (default: %(default)g)")
    command.add_argument("--seed", type=_seed, default=0, help="same seed, same numbers (default: 0)")
    command.add_argument("--save", metavar="FILE.json", help="write the witness of a refutation")
    command.add_argument("--plot", metavar="FILE", help="draw the curve claimed against the curve found")
    command.add_argument("--report", metavar="FILE.pdf", help="one page: claim, verdict, curves, witness, assumptions")
    command.add_argument("--json", action="store_true", help="print JSON")


def _add_report(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("report", help="make the PDF of theory against simulation, or compare two runs")
    command.set_defaults(module="verify.cli.reporting")
    command.add_argument("names", nargs="*", metavar="TOPIC|CLAIM", help=NAMES)
    command.add_argument("--topic", action="append", default=[], help="a topic, as if named (may be repeated)")
    _add_store(command)
    command.add_argument("--results", metavar="FILE", help="results of verify (default: results.json in the store)")
    command.add_argument("--summary", action="store_true", help="at most four pages a paper")
    command.add_argument("--proofs", metavar="DIR", help="check the proof files there, and name them by their claims")
    command.add_argument(
        "--compare",
        nargs=2,
        metavar=("OLD", "NEW"),
        help="instead of a PDF: which verdicts, grounds, clauses and checks changed between two results files of one "
        "level, and which numbers moved (of chance, where the intervals are apart); status 1 if a verdict changed",
    )
    command.add_argument("--out", metavar="FILE.pdf", help="where to write the PDF")


def _add_new_paper(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("new-paper", help="write the skeleton of a paper of your own, a package with claims")
    command.set_defaults(module="verify.cli.new_paper")
    command.add_argument("name", metavar="NAME", help="of the topic, its package and its folder")
    command.add_argument("--dir", default=".", metavar="DIR", help="where to put the folder (default: here)")


def _add_store(command: argparse.ArgumentParser) -> None:
    command.add_argument("--store", default=STORE, metavar="DIR", help="folder of results (default: %(default)s)")


def _seed(text: str) -> int:
    if not text.isdecimal() or len(text) > 10 or int(text) > LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to {LARGEST_SEED}")
    return int(text)


def _shard(text: str) -> tuple[int, int]:
    part, _, whole = text.partition("/")
    digits = part.isdecimal() and whole.isdecimal() and len(part) <= 9 and len(whole) <= 9
    if not (digits and int(part) < int(whole) <= MOST_SHARDS):
        said = f"{text!r} is not of the form I/N with 0 <= I < N <= {MOST_SHARDS}, such as 0/2"
        raise argparse.ArgumentTypeError(said)
    return int(part), int(whole)
