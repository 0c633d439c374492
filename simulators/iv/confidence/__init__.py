"""Private confidence sets for instrumental variables: data models, releases, and one-shot estimators."""

from simulators.iv.confidence.blocks import (
    block_releases,
    block_variation,
    release_blocks,
    release_blocks_in_law,
)
from simulators.iv.confidence.clipping import ClippedDesign, clipped_releases, release_clipped, without_clipping
from simulators.iv.confidence.controls import TwoStageDesign, controlled_releases, release_controlled
from simulators.iv.confidence.models import CellModel, Compliers, OneInstrument, WeakInstruments
from simulators.iv.confidence.moments import (
    MomentDesign,
    clamping_variation,
    moment_releases,
    release_moments,
    release_moments_in_law,
)
from simulators.iv.confidence.one_shot import OneShot, one_shot
from simulators.iv.confidence.signs import SignDesign, release_signs, step_curves

__all__ = [
    "CellModel",
    "ClippedDesign",
    "Compliers",
    "MomentDesign",
    "OneInstrument",
    "OneShot",
    "SignDesign",
    "TwoStageDesign",
    "WeakInstruments",
    "block_releases",
    "block_variation",
    "clamping_variation",
    "clipped_releases",
    "controlled_releases",
    "moment_releases",
    "one_shot",
    "release_blocks",
    "release_blocks_in_law",
    "release_clipped",
    "release_controlled",
    "release_moments",
    "release_moments_in_law",
    "release_signs",
    "step_curves",
    "without_clipping",
]
