"""Private least squares with clipping: laws that count it, from the data, and from moments to choose settings by.

A gradient that is clipped is bounded by its clip level c and smaller than it should be: noise falls with c, a bias
grows. The laws here know both; those of `dpbounds.ols.risk` know the noise alone.

- `gradient_descent`: DP-GD, with averaging and momentum; `Descent`: its settings
- `hessian_mixing`: IHM; `newton`: PRN; `tail_averaged`: TAP
- `from_moments`: DP-GD from (A, b, ||y||², n), an estimate; `chosen_from_moments`: settings by it
- `tuned_descent`: DP-GD's best settings on given records, an upper reference
- `clip_floor`: what clipping alone leaves
- `clipped_mean`, `unclipped_share`: of one normal residual

Each gives a `Law`: risk, relative risk, bias, and the share of rows that are clipped. `exact` is said only where none
is; iterates that run away are an `AccuracyError`.
"""

from dpbounds.ols.clipping.closure import clipped_mean, unclipped_share
from dpbounds.ols.clipping.descent import Descent, gradient_descent
from dpbounds.ols.clipping.floor import Floor, clip_floor
from dpbounds.ols.clipping.law import Law
from dpbounds.ols.clipping.mixing import hessian_mixing
from dpbounds.ols.clipping.moments import Choice, MomentsLaw, bias_estimate, chosen_from_moments, from_moments
from dpbounds.ols.clipping.preconditioned import newton, tail_averaged
from dpbounds.ols.clipping.tuning import Tuned, tuned_descent

__all__ = [
    "Choice",
    "Descent",
    "Floor",
    "Law",
    "MomentsLaw",
    "Tuned",
    "bias_estimate",
    "chosen_from_moments",
    "clip_floor",
    "clipped_mean",
    "from_moments",
    "gradient_descent",
    "hessian_mixing",
    "newton",
    "tail_averaged",
    "tuned_descent",
    "unclipped_share",
]
