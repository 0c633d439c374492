"""Private instrumental variables with a confidence set that holds (topic iv).

Records (z, x, y) are bounded by public constants: |z| <= 1 after scaling, v = (y / a_y, x_j / a_j) with |v| <= 1. Noise
is Gaussian and privacy mu-GDP; adjacency is `zero-out` or `replace-one`, n is public.

- `sensitivity`: what releases cost, noise scales, weights, n*
- `release`: `MomentRelease` (design U), `BlockRelease` (design H); `steps`: design S and its set; `cells`: controls
- `anderson_rubin`: the test; `conditional`: its more powerful sibling
- `sets`: the set that a test leaves; `certified`: the same by exact arithmetic; `projection`: one of two regressors
- `honest`: a set that covers at every n; `normal`: why
- `plan`, `budget`, `ranges`: what a private estimate is made of before records are read; `price`: what to expect of it
- `stretched`: clipped residuals, and the set stretched by what clipping may hide (`dpbounds.iv.clamped`)
- `disclosure`, `answers`: what leaves, and everything read off it; `bounded`: what would make a set bounded

`dpbounds.private.InstrumentalVariables` does all of it from data.
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
from dpbounds.iv.confidence.answers import ConfidenceAnswer, confidence_answer
from dpbounds.iv.confidence.bounded import bounded_set_budget, bounded_set_records
from dpbounds.iv.confidence.budget import BudgetLine, BudgetShares, PrivacyBudget, budget_shares
from dpbounds.iv.confidence.cells import cell_form, cell_sensitivity, cell_variance
from dpbounds.iv.confidence.conditional import ConditionalQlr, conditional_qlr
from dpbounds.iv.confidence.disclosure import Disclosure
from dpbounds.iv.confidence.normal import bennett_radius, kolmogorov_bound, uniform_kolmogorov_bound
from dpbounds.iv.confidence.pieces import ConfidenceSet
from dpbounds.iv.confidence.plan import ReleasePlan
from dpbounds.iv.confidence.price import ExpectedPrice, Price, expected_prices, price_of_privacy
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
from dpbounds.iv.confidence.signs import SignRelease, sign_deviation, sign_equivalent_sample, sign_sensitivity
from dpbounds.iv.confidence.steps import StepNoise, sign_critical, sign_p_value, sign_set, step_noise
from dpbounds.iv.confidence.stretched import (
    ClippedCounts,
    Start,
    StretchShares,
    arms_release,
    count_sensitivity,
    split_level,
    start_sensitivity,
    starting_line,
    stretch_shares,
    stretched_curve,
    stretched_point,
    stretched_set,
)

__all__ = [
    "ADJACENCIES",
    "Adjacency",
    "AndersonRubin",
    "BlockRelease",
    "BlockScales",
    "BudgetLine",
    "BudgetShares",
    "ClippedCounts",
    "ConditionalQlr",
    "ConfidenceAnswer",
    "ConfidenceSet",
    "Curve",
    "Disclosure",
    "ExpectedPrice",
    "FirstStage",
    "MomentRelease",
    "Price",
    "PrivacyBudget",
    "Release",
    "ReleasePlan",
    "Scales",
    "SignRelease",
    "Start",
    "StepNoise",
    "StretchShares",
    "anderson_rubin",
    "anderson_rubin_curve",
    "anderson_rubin_trials",
    "arms_release",
    "bennett_radius",
    "block_scales",
    "block_sensitivity",
    "bounded_set_budget",
    "bounded_set_records",
    "box_weights",
    "budget_shares",
    "cell_form",
    "cell_sensitivity",
    "cell_variance",
    "conditional_qlr",
    "confidence_answer",
    "confidence_set",
    "count_sensitivity",
    "equivalent_sample",
    "expected_prices",
    "first_stage",
    "kolmogorov_bound",
    "length_ratio",
    "moment_sensitivity",
    "noise_scales",
    "point_estimate",
    "positive_part",
    "price_of_privacy",
    "projection",
    "sign_critical",
    "sign_deviation",
    "sign_equivalent_sample",
    "sign_p_value",
    "sign_sensitivity",
    "sign_set",
    "split_level",
    "start_sensitivity",
    "starting_line",
    "step_noise",
    "stretch_shares",
    "stretched_curve",
    "stretched_point",
    "stretched_set",
    "uniform_kolmogorov_bound",
]
