"""Every algorithm of the papers and every release of this library, audited against its own claim, at a small size.

Others stand in `test_own_releases`: designed noise, iv Algorithms 1 and 3 with Lemma F.1, confidence releases, glm
Algorithms 1 and 3, ols Algorithm 5. Without a claim of privacy are iv Algorithm 2, the surrogate of FriendlyCore, glm
Remark 10 (no noise is stated), sketch-and-solve and IHS.
"""

from __future__ import annotations

from itertools import chain

import pytest

from dpbounds.audit import audit, evaluated
from tests.simulators.audit.releases import FALSE, estimators, ftrl, glm, ols

ROWS = list(chain(ftrl(), glm(), ols(), estimators()))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_claims_are_judged_as_they_are(row):
    """The audits of right claims raise a false alarm with probability 1e-6 each."""
    found = audit(row.run, row.claim, adjacency=row.adjacency, domain=row.domain, law=row.law, seconds=4.0)
    if row.true == FALSE:
        assert found.verdict == "refuted" and evaluated(found.witness).refuted, found.text
    else:
        assert found.verdict in ("consistent", "unclear") and found.coverage.ran > 0, found.text
