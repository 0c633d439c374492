"""Seconds to refute five broken mechanisms: by the law of their outputs, and by sampling alone.

    pytest benchmarks/test_audit_speed.py -n 0 -s

The sampler is given the worst pair that the other search found, and seconds; it learns an event on half of its runs and
counts it on the other, at the same false-alarm rate. Nothing is asserted about time.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpbounds.audit import audit
from dpbounds.audit.intervals import ALPHA
from dpbounds.audit.promises import promise_of
from simulators.audit.process import Runner
from simulators.audit.records import pair_of
from simulators.audit.sampled import sampled
from simulators.audit.shifts import Seeds
from tests.simulators.audit.examples import BROKEN

SECONDS, RUNS = 20.0, 200_000
# Of an output, the sampler looks at so many entries: all of 20,000 in each of many runs do not fit.
ENTRIES = 64


def first_entries(run):
    """The outputs that move most are not known to a sampler; the first ones are as good as any here."""

    def short(data, seed):
        released = run(data, seed)
        values = list(released.values()) if isinstance(released, dict) else [released]
        return np.concatenate([np.ravel(value)[: ENTRIES // len(values)] for value in values])

    return short


@pytest.mark.parametrize("row", BROKEN, ids=lambda row: row.name)
def test_by_law_against_sampling(row, capsys):
    with threadpool_limits(1):
        start = time.perf_counter()
        found = audit(row.run, row.claim, adjacency=row.adjacency, domain=row.domain, law=row.law)
        by_law = time.perf_counter() - start
        assert found.verdict == "refuted" and found.witness is not None
        claim = promise_of(row.claim)
        start = time.perf_counter()
        with Runner(first_entries(row.run), seconds=SECONDS) as runner:
            pair = pair_of(found.witness["pair"])
            told = sampled(runner, [pair], claim.delta, ALPHA, Seeds(0), most=RUNS, until=1.0)
        seconds = time.perf_counter() - start
    least = 0.0 if told.best is None else told.best.epsilon
    verdict = "refuted" if least > claim.level else "not refuted"
    with capsys.disabled():
        print(
            f"\n{row.name}: by law refuted in {by_law:.2f} s; by sampling {verdict} in {seconds:.1f} s, "
            f"epsilon at least {least:.4g} of {claim.level:.4g} claimed ({told.runs} runs a side)"
        )
