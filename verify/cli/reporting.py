"""`dpbounds report`."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from reports.render import report
from reports.results import ReportError
from verify.results import RESULTS


def run(arguments: Namespace) -> int:
    """Write the PDF and say where it is."""
    file = Path(arguments.results) if arguments.results else Path(arguments.store) / RESULTS
    try:
        shown = report(file, Path(arguments.out), [*arguments.names, *arguments.topic], summary=arguments.summary)
    except ReportError as error:
        print(f"dpbounds: {error}", file=sys.stderr)
        return 2
    print(f"Report: {arguments.out} (claims: {len(shown.entries)})")
    return 0
