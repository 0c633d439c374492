"""`dpbounds report`."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from reports.render import report
from reports.results import ReportError


def run(arguments: Namespace) -> int:
    """Write the PDF and say where it is."""
    try:
        shown = report(Path(arguments.results), Path(arguments.out), arguments.topic)
    except ReportError as error:
        print(f"dpbounds: {error}", file=sys.stderr)
        return 2
    print(f"Report: {arguments.out} (claims: {len(shown.entries)})")
    return 0
