"""A claim's own code in exact and interval arithmetic: what floats found at a point, decided for certain there.

The claim's module and all theory that it calls are read again with another meaning of their numbers (`world`): whole
numbers stay, every other number is a ball that holds it (`numbers`), and the functions of `math`, NumPy and SciPy that
they call are those of balls (`functions`, `arrays`, `linear`), where floats are cut off their `enclosures`. What has no
such meaning raises `Unsupported`; a comparison that the balls leave open raises `Uncertain`. Nothing is rounded without
a bound, so that a side that comes out larger is larger.
"""

from verify.certain.numbers import Uncertain, Unsupported
from verify.certain.points import agreed, refuted

__all__ = ["Uncertain", "Unsupported", "agreed", "refuted"]
