"""Running mechanisms to see whether they keep their promise; found in `dpbounds.audit`."""

from simulators.audit import adapters
from simulators.audit.auditor import audit
from simulators.audit.domains import Box, Pair, neighbours
from simulators.audit.process import Outcome, Runner
from simulators.audit.reruns import Rerun, rerun

__all__ = ["Box", "Outcome", "Pair", "Rerun", "Runner", "adapters", "audit", "neighbours", "rerun"]
