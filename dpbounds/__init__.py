"""Theory of differentially private learning: bounds, exact values and privacy accounting.

Pure functions of parameters; no randomness, no files. Rooms: `privacy`, `elliptic` and one per topic. Importing this
package loads nothing heavy; each room loads what it needs.
"""

from importlib.metadata import version

from dpbounds.errors import AccuracyError, DomainError
from dpbounds.values import Value

__all__ = ["AccuracyError", "DomainError", "Value", "__version__"]
__version__ = version("dpbounds")
