"""The name until 0.2 of what `verify` gives itself: `from verify import Claim, Correction, Fault`."""

from verify.statements.claims import Claim, Correction, Fault

__all__ = ["Claim", "Correction", "Fault"]
