"""The name until 0.2 of what `verify` gives itself: `from verify import Real, Whole`."""

from verify.checks.domains import Real, Whole

__all__ = ["Real", "Whole"]
