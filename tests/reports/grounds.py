"""`python -m tests.reports.grounds RESULTS`: whether the README's table of grounds is that of a results file.

Exit status: 0 it is, 1 it is not; then the rows that it should have are printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from reports.reader import read
from reports.results import GROUNDS, Entry, Results

README = Path(__file__).parents[2] / "README.md"
WHOLE, CERTAIN = ("proved", "certified"), ("proved", "certified", "certified at points")


def rows_of(results: Results) -> Iterator[str]:
    """A row per topic: decided, proved or certified as a whole, refuted or corrected, refuted for certain."""
    for paper in results.papers:
        decided = [entry for entry in results.of(paper.name) if entry.verdict in ("confirmed", "corrected", "refuted")]
        false = [entry for entry in decided if entry.verdict != "confirmed"]
        whole = sum(entry.how in WHOLE for entry in decided)
        certain = sum(_refutation(entry) in CERTAIN for entry in false)
        yield f"| {paper.name} | {len(decided)} | {whole} | {len(false)} | {certain} |"


def _refutation(entry: Entry) -> str:
    failing = [item.how for item in entry.evidence if item.form == "printed" and item.outcome == "fails"]
    return min(failing, key=GROUNDS.index)


def stated(readme: str) -> list[str]:
    """The rows that the README has."""
    _, _, table = readme.partition("| | claims decided |")
    return table.partition("\n\n")[0].splitlines()[2:]


def main(arguments: Sequence[str]) -> int:
    """Compare."""
    rows = list(rows_of(read(Path(arguments[0]))))
    if sorted(rows) == sorted(stated(README.read_text(encoding="utf-8"))):
        return 0
    print("The README's table of grounds is not that of these results; it should be", *rows, sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
