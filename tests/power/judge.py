"""Decide claims at quick level until one is not what it was reviewed as: the court that `mutants` go before."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from verify.running.executor import Serial
from verify.running.registry import claim_named
from verify.running.runner import Run
from verify.running.store import Store
from verify.statements.claims import Claim


def changed(claim: Claim, folder: Path, *, seed: int = 0) -> str:
    """What changed, or "" for nothing: another word, or a computation that failed."""
    with Store(folder) as store:
        run = Run([claim], level="quick", seed=seed, store=store)
        run.compute(Serial(), resume=False)
        (decided,) = run.decide()
    if decided.failure:
        return decided.failure.strip().splitlines()[-1]
    return f"{decided.verdict.word}, reviewed was {claim.reviewed}" if decided.changed else ""


def main(names: list[str]) -> int:
    """1 at the first claim that changed."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            reason = changed(claim_named(name), Path(folder))
        if reason:
            print(f"{name}: {reason}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
