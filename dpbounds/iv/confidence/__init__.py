"""Private instrumental variables with a confidence set that holds (topic iv).

Records (z, x, y) are bounded by public constants: |z| <= 1 after scaling, v = (y / a_y, x_j / a_j) with |v| <= 1. Noise
is Gaussian and privacy mu-GDP; adjacency is `zero-out` or `replace-one`, n is public.

- `sensitivity`: what releases cost, noise scales, weights, n*
- `release`: `MomentRelease` (design U), `BlockRelease` (design H); `steps`: design S and its set; `cells`: controls
- `anderson_rubin`: the test; `conditional`: its more powerful sibling; `bias`: a test that allows for clamping
- `sets`: the set that a test leaves; `certified`: the same by exact arithmetic; `projection`: one of two regressors
- `honest`: a set that covers at every n; `normal`: why
"""

from dpbounds.iv.confidence.anderson_rubin import (
    AndersonRubin,
    Curve,
    FirstStage,
    anderson_rubin,
    anderson_rubin_curve,
    anderson_rubin_trials,
    first_stage,
)
from dpbounds.iv.confidence.bias import BiasAware, bias_aware
from dpbounds.iv.confidence.cells import cell_form, cell_variance
from dpbounds.iv.confidence.conditional import ConditionalQlr, conditional_qlr
from dpbounds.iv.confidence.normal import bennett_radius, kolmogorov_bound, uniform_kolmogorov_bound
from dpbounds.iv.confidence.pieces import ConfidenceSet
from dpbounds.iv.confidence.projection import projection
from dpbounds.iv.confidence.release import BlockRelease, MomentRelease, Release, positive_part
from dpbounds.iv.confidence.sensitivity import (
    ADJACENCIES,
    Adjacency,
    BlockScales,
    Scales,
    block_scales,
    block_sensitivity,
    box_weights,
    equivalent_sample,
    length_ratio,
    moment_sensitivity,
    noise_scales,
)
from dpbounds.iv.confidence.sets import confidence_set, point_estimate
from dpbounds.iv.confidence.steps import StepNoise, sign_critical, sign_p_value, sign_set, step_noise

__all__ = [
    "ADJACENCIES",
    "Adjacency",
    "AndersonRubin",
    "BiasAware",
    "BlockRelease",
    "BlockScales",
    "ConditionalQlr",
    "ConfidenceSet",
    "Curve",
    "FirstStage",
    "MomentRelease",
    "Release",
    "Scales",
    "StepNoise",
    "anderson_rubin",
    "anderson_rubin_curve",
    "anderson_rubin_trials",
    "bennett_radius",
    "bias_aware",
    "block_scales",
    "block_sensitivity",
    "box_weights",
    "cell_form",
    "cell_variance",
    "conditional_qlr",
    "confidence_set",
    "equivalent_sample",
    "first_stage",
    "kolmogorov_bound",
    "length_ratio",
    "moment_sensitivity",
    "noise_scales",
    "point_estimate",
    "positive_part",
    "projection",
    "sign_critical",
    "sign_p_value",
    "sign_set",
    "step_noise",
    "uniform_kolmogorov_bound",
]
