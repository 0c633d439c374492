"""The kinds of noise that are set beside one another: keys that decide, and labels that are shown.

>>> LABELS["amplified"]
'independent, amplified'
"""

from __future__ import annotations

from typing import Literal

NoiseKind = Literal["independent", "amplified", "prefix-sum", "designed"]

LABELS: dict[NoiseKind, str] = {
    "independent": "independent",
    "amplified": "independent, amplified",
    "prefix-sum": "prefix sum",
    "designed": "designed",
}
# Those whose steps share nothing, with and without Poisson sampling.
UNCORRELATED: tuple[NoiseKind, ...] = ("independent", "amplified")
# Those that are compared for a run whose batches are given.
OF_A_RUN: tuple[NoiseKind, ...] = ("independent", "prefix-sum", "designed")
