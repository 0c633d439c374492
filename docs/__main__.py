"""`python -m docs RESULTS OUT`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.building import SiteError, build
from reports.results import ReportError


def main() -> int:
    """Exit status: 0 built, 2 refused; warnings are errors."""
    parser = argparse.ArgumentParser(prog="python -m docs", description="Build the site from a results file, offline.")
    parser.add_argument("results", type=Path, help="results.json, as `dpbounds verify` leaves it in its store")
    parser.add_argument("out", type=Path, help="folder of the site: a new one, or one that this command made")
    parser.add_argument("--proofs", type=Path, help="check the proof files there, and name them by their claims")
    parser.add_argument("--verdicts-only", action="store_true", help="without tutorials, explanations and reference")
    arguments = parser.parse_args()
    try:
        pages = build(arguments.results, arguments.out, proofs=arguments.proofs, whole=not arguments.verdicts_only)
    except (ReportError, SiteError) as error:
        print(f"docs: {error}", file=sys.stderr)
        return 2
    print(f"Site: {arguments.out / 'index.html'} (pages: {pages})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
