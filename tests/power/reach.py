"""Which lines of theory and simulators each claim runs at quick level: a map for `mutants`, written as JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("dpbounds", "simulators", "verify")


def main(target: Path, names: list[str]) -> None:
    """`lines`: file to line to claims; `seconds`: claim to the time that it takes, measured under the tracer."""
    coverage = Coverage(data_file=None, source=[str(ROOT / "dpbounds"), str(ROOT / "simulators")], config_file=False)
    coverage.start()
    from tests.power.judge import changed
    from verify.running.registry import select

    seconds: dict[str, float] = {}
    for claim in select(names):
        coverage.switch_context(claim.id)
        _forget()
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            reason = changed(claim, Path(folder))
        if reason:
            print(f"left out, since it changes without a mistake: {claim.id}: {reason}", file=sys.stderr)
        else:
            seconds[claim.id] = round(time.perf_counter() - started, 3)
    coverage.stop()
    data = coverage.get_data()
    lines: dict[str, dict[str, list[str]]] = {}
    for file in data.measured_files():
        contexts = data.contexts_by_lineno(file)
        own = {str(line): [claim for claim in claims if claim in seconds] for line, claims in contexts.items()}
        # What runs when the file is imported (constants, defaults) serves every claim that comes by the file.
        every = sorted({claim for claims in own.values() for claim in claims})
        lines[Path(file).relative_to(ROOT).as_posix()] = {
            line: claims or every for line, claims in own.items() if every
        }
    target.write_text(json.dumps({"lines": lines, "seconds": seconds}))


def _forget() -> None:
    """Empty every cache, so that a claim runs what it needs itself."""
    import functools
    import gc

    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper) and thing.__module__.partition(".")[0] in LAYERS:
            thing.cache_clear()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
