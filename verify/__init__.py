"""Judgement: claims, checks, statistics, privacy audit, runner, result store and the command line.

What a paper of one's own is stated with stands here, loaded when it is used: `from verify import Claim, Topic`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verify.checks.domains import Real, Whole
    from verify.checks.pictures import Picture, Series
    from verify.statements.claims import Claim, Correction, Fault
    from verify.statements.derivations import Derivation
    from verify.statements.topics import Figure, Highlight, Panel, Topic

_HOMES = {
    "verify.checks.domains": ("Real", "Whole"),
    "verify.checks.pictures": ("Picture", "Series"),
    "verify.statements.claims": ("Claim", "Correction", "Fault"),
    "verify.statements.derivations": ("Derivation",),
    "verify.statements.topics": ("Figure", "Highlight", "Panel", "Topic"),
}

__all__ = [
    "Claim",
    "Correction",
    "Derivation",
    "Fault",
    "Figure",
    "Highlight",
    "Panel",
    "Picture",
    "Real",
    "Series",
    "Topic",
    "Whole",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
