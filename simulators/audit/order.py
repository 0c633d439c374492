"""The steps of an audit in their order, cheap and decisive ones first, each of which may end it.

>>> from dpbounds.audit import Box, gaussian, promise_of
>>> from simulators.audit.process import Runner
>>> from simulators.audit.work import Question
>>> asked = Question(promise_of((1.0, 1e-5)), gaussian(), "zero-out", Box(shape=(2,), low=0, high=1))
>>> with Runner(lambda data, seed: data.sum(), seconds=20.0) as runner:
...     decided(Work(runner, asked)).verdict
'refuted'
"""

from __future__ import annotations

from dpbounds.audit.results import Audit
from simulators.audit.looks import as_shipped, fixed, forms, repeats, still
from simulators.audit.routes import by_event, by_law, two_samples, without_seeds
from simulators.audit.shifts import scan
from simulators.audit.work import AFTER_SEARCH, Work


def decided(work: Work) -> Audit:
    """The steps in their order; each may end the audit."""
    as_ever = as_shipped(work)
    scanned = scan(work.runner, work.pairs, work.law, work.seeds, until=AFTER_SEARCH * work.budget)
    ran, additive = scanned.ran, len(scanned.additive)
    work.note("1 neighbours", f"{ran} of {scanned.planned} pairs ran, {additive} additive")
    formed = forms(work, scanned)
    if formed is not None:
        return formed
    if not ran:
        return work.nothing(scanned)
    work.describe(scanned)
    if as_ever and (apart := fixed(work, scanned)) is not None:
        return apart
    if not repeats(work, scanned):
        return without_seeds(work, scanned)
    if work.law.continuous:
        if work.support.startswith("whole"):
            words = "outputs are whole numbers: the noise is not continuous"
            return by_event(work, scanned, differs=[words])
        if (silent := still(work, scanned)) is not None:
            return silent
        others = [one for one in scanned.good if not one.additive or one.tied]
        if others:
            words = f"{len(others)} of {scanned.ran} pairs are not additive, such as: {others[0].pair.label}"
            work.findings.append(words)
            if (apart := two_samples(work, scanned, others)) is not None:
                return apart
        if scanned.additive:
            return by_law(work, scanned, others)
    return by_event(work, scanned)
