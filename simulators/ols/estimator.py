"""Private linear regression by scikit-learn's conventions; found in `dpbounds.private`.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> X = rng.uniform(0, 10, (5000, 2))
>>> y = 3 + X @ [1.0, -0.5] + rng.uniform(-1, 1, 5000)
>>> model = LinearRegression(epsilon=2.0, delta=1e-6, ranges=(0, 10), outcome_range=(-5, 15), seed=1)
>>> model.fit(X, y)
LinearRegression(delta=1e-06, epsilon=2.0, outcome_range=(-5, 15), ranges=(0, 10), seed=1)
>>> model.coef_.round(1).tolist(), model.private_
([1.0, -0.5], False)
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from dpbounds.errors import LARGEST, AccuracyError, DomainError, choice, count, real_array, within
from dpbounds.ols.comparison import DELTAS, EPSILONS
from dpbounds.ols.data import Beyond
from dpbounds.ols.designs import MOST_REGRESSORS
from dpbounds.ols.fitted import released_forecast, stand_in_forecast
from dpbounds.ols.noise_region import noise_region
from dpbounds.ols.ranges import Range, Ranges
from dpbounds.ols.tail_averaged import TailAveraged
from dpbounds.privacy import gaussian_mu
from simulators import opendp
from simulators.ols.records import LeastSquares
from simulators.ols.tail_averaging import tail_release
from simulators.parameters import Parameters
from simulators.sources import GaussianSource, OpenDPSource

Adjacency = Literal["zero-out", "replace-one"]
Noise = Literal["opendp", "numpy"]
# Up to n sqrt(d) sums of records, correctly rounded, move by less than the share that OpenDP's noise is larger by.
MOST_ROUNDED = 4e6


class LinearRegression(Parameters):
    """Least squares with one private release by tail-averaged preconditioned descent (`dpbounds.ols.tail_averaged`).

    - `epsilon`, `delta`: the budget of the whole release, which is mu-GDP for the mu that has this curve;
    - `ranges`: (low, high) of every column, one pair for each column, or a mapping of the columns of a data frame to
      pairs; `outcome_range`: (low, high) of the outcome. What lies beyond a range is taken to its end (`beyond="clip"`)
      or refused, and that something was refused is not private. All must be known without these records;
    - `fit_intercept`: with a column of ones, as large as one feature;
    - `adjacency`: private for data sets of n records that differ in one, whose row and outcome in units of the ranges
      are 0 in one of them (`zero-out`) or anything (`replace-one`, whose noise is 1.9 times as large). n is public;
    - `noise`: `opendp`, which has none of the holes of floats, or `numpy`; None takes the first where it is installed;
    - `seed`: None draws noise that nobody can draw again. **With a seed it is a study and not private**, from NumPy.

    Settings are constants of the method and none is chosen by the records. After `fit`: `coef_` (d,), `intercept_`;
    `theta_`, the estimate in units of the ranges; `n_features_in_`, `feature_names_in_` (data frames), `ranges_`,
    `settings_`, `mu_`, `n_records_`, `noise_`, `private_`; `release_`, all that was released, from which coefficients
    and forecast follow; and `event_`, what an accountant is told (`dpbounds.audit.accounted`).

    `excess_` forecasts the mean squared distance of predictions from those of the least squares fit within the ranges,
    over the records, from the release alone: rough, and too low where `resolved_` is False, as the noise then hides
    directions of the columns. `expected_excess` knows better from records that stand in. `noise_interval` says how far
    the noise alone may have moved predictions, `coef_noise_interval` coefficients.
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        ranges: Range | Sequence[Range] | Mapping[str, Range] | None = None,
        outcome_range: Range | None = None,
        fit_intercept: bool = True,
        beyond: Beyond = "clip",
        adjacency: Adjacency = "zero-out",
        noise: Noise | None = None,
        seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.ranges = ranges
        self.outcome_range = outcome_range
        self.fit_intercept = fit_intercept
        self.beyond = beyond
        self.adjacency: Adjacency = adjacency
        self.noise = noise
        self.seed = seed

    def fit(self, X: Any, y: Any) -> LinearRegression:
        """Release once from rows X (n, d) and outcomes y (n,), arrays or data frames.

        A second call without a seed is refused: the budget is spent. `sklearn.base.clone` gives an estimator with a
        budget of its own; on the same records both are spent. Raises `DomainError` for parameters and records that
        cannot be used, which is seen from the outside and not private.
        """
        if getattr(self, "private_", False):
            remedy = "clone the estimator, and count both releases if the records are the same"
            raise DomainError("fit", "a second call", "the only one: the budget is spent", remedy)
        names = _names(X)
        if y is None:
            raise DomainError("y", None, "given", "this estimator requires y to be passed, but the target y is None")
        X, y = _finite("X", X, 2), _finite("y", y, 1)
        ranges, settings = self.prepared(names, X.shape[1])
        if len(X) < ranges.d:
            raise DomainError("n_samples", len(X), f"at least {ranges.d}, the columns with the intercept")
        source = self.source(len(X), ranges.d)
        data = ranges.data(X, y, beyond=choice("beyond", self.beyond, ("clip", "refuse")))  # pyright: ignore
        problem = LeastSquares(regressors=data.regressors, outcome=data.outcome)
        self.private_ = self.seed is None  # from here on noise is drawn
        return self._keep(problem, ranges, settings, source, names)

    def prepared(self, names: Sequence[str] | None, columns: int) -> tuple[Ranges, TailAveraged]:
        """Ranges of this many columns and settings of the release, checked; nothing of the records is needed."""
        if self.ranges is None or self.outcome_range is None:
            given = f"{self.ranges}, {self.outcome_range}"
            raise DomainError("ranges, outcome_range", given, "public (low, high)", "they are not read off the records")
        for name in ("epsilon", "delta"):
            if getattr(self, name) is None:
                raise DomainError(name, None, "given", "the budget of the whole release")
        count("columns", columns, most=MOST_REGRESSORS)
        ranges = Ranges(
            columns=_pairs(self.ranges, names, columns),
            outcome=self.outcome_range,
            intercept=bool(self.fit_intercept),
        )
        mu = gaussian_mu(within("epsilon", self.epsilon, EPSILONS), within("delta", self.delta, DELTAS))
        choice("adjacency", self.adjacency, get_args(Adjacency))
        return ranges, TailAveraged(mu=float(mu), adjacency=self.adjacency)

    def predict(self, X: Any) -> np.ndarray:
        """Outcomes (n,) of rows (n, d). Raises `DomainError` before `fit` and for other numbers of columns."""
        return self._rows("predict", X) @ self.coef_ + self.intercept_

    def noise_interval(self, X: Any, level: float = 0.95) -> np.ndarray:
        """Lower and upper ends (n, 2), in units of the outcome, for what the fit without privacy noise predicts at rows
        (n, d): least squares within the ranges, with the same clipping of gradients. Computed from the release, at no
        cost.

        Each row's interval covers with probability about `level` over the noise while
        clipping leaves nine tenths of the slope. **Clipping's own bias and the chance of the records are not counted**:
        least squares is covered where hardly any gradient is clipped; of other records, and of outcomes, nothing is
        said. Raises `AccuracyError` where the release knows no interval (`dpbounds.ols.noise_region`).
        """
        X = self._rows("noise_interval", X)
        return self._noise_interval(np.column_stack([X, np.ones(len(X))]), level)

    def coef_noise_interval(self, level: float = 0.95) -> np.ndarray:
        """The same for each coefficient and, last, for the intercept, (d + 1, 2)."""
        self._fitted("coef_noise_interval")
        return self._noise_interval(np.eye(self.n_features_in_ + 1), level)

    def _noise_interval(self, rows: np.ndarray, level: float) -> np.ndarray:
        """For sums of coefficients and intercept, weighted by rows (k, d + 1)."""
        slopes, constants = self.ranges_.units
        region = noise_region(self.release_, self.theta_, level)
        return region.interval(rows @ slopes) + (rows @ constants)[:, None]

    def _fitted(self, name: str) -> None:
        if not hasattr(self, "coef_"):
            raise DomainError(name, "called before fit", "called after it")

    def _rows(self, name: str, X: Any) -> np.ndarray:
        """X as in `fit`, for the method of this name. Raises `DomainError` before it, and for other columns."""
        self._fitted(name)
        names, X = _names(X), _finite("X", X, 2)
        known = getattr(self, "feature_names_in_", None)
        if names is not None and known is not None and list(names) != list(known):
            raise DomainError("columns", ", ".join(names), f"those of fit, in their order: {', '.join(known)}")
        if X.shape[1] != self.n_features_in_:
            expected = f"{type(self).__name__} is expecting {self.n_features_in_} features as input"
            raise DomainError("X", f"X has {X.shape[1]} features, but {expected}", "as in fit")
        return X

    def score(self, X: Any, y: Any) -> float:
        """R² of the predictions on given records, which costs no budget and is not private; nan for one outcome."""
        y = _finite("y", y, 1)
        found, centred = y - self.predict(X), y - y.mean()
        return 1.0 - float(found @ found) / float(centred @ centred) if centred.any() else float("nan")

    @property
    def excess_(self) -> float | None:
        """The forecast from the release alone, per record in squared units of the outcome; None where its problem has
        no law, as noise is all there is.
        """
        if not hasattr(self, "theta_"):
            raise AttributeError("excess_ is there after fit")
        try:
            risk = released_forecast(self.release_, self.theta_)
        except (AccuracyError, DomainError):  # the release is paid for, and kept without it
            return None
        return self._per_record(float(risk), self.ranges_, self.n_records_)

    def content(self, level: float = 0.95) -> dict[str, Any]:
        """The fitted model as JSON data: public parameters, and what follows from the release. `level`: of the noise
        intervals of coefficients and intercept, null with the reason beside them where there are none.
        """
        self._fitted("content")
        try:
            ends, missing = self.coef_noise_interval(level).tolist(), None
        except AccuracyError as error:  # the release is paid for, and kept without it
            ends, missing = None, str(error)
        names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        return {
            "kind": "linear regression",
            "method": "TAP",
            "columns": [str(name) for name in names],
            "coefficients": self.coef_.tolist(),
            "intercept": self.intercept_,
            "ranges": [list(pair) for pair in self.ranges_.columns],
            "outcome_range": list(self.ranges_.outcome),
            "fit_intercept": self.ranges_.intercept,
            "records": self.n_records_,
            "epsilon": float(self.epsilon or 0.0),
            "delta": float(self.delta or 0.0),
            "mu": self.mu_,
            "adjacency": self.adjacency,
            "event": self.event_,
            "noise": self.noise_,
            "private": self.private_,
            "seed": self.seed,
            "expected_excess": self.excess_,
            "resolved": self.resolved_,
            "noise_level": level,
            "noise_intervals": ends,
            "noise_intervals_missing": missing,
        }

    def expected_excess(self, X: Any, y: Any) -> float:
        """The forecast of `excess_` from records that stand in for the private ones, public or made up, as many, before
        or after `fit`: by the law of the method on others of their law, which counts clipping. Costs nothing.
        """
        ranges, settings = self.prepared(_names(X), _finite("X", X, 2).shape[1])
        y = _finite("y", y, 1)
        return self._per_record(float(stand_in_forecast(settings, ranges, X, y).risk), ranges, len(y))

    def _per_record(self, risk: float, ranges: Ranges, n: int) -> float:
        """In squared units of the outcome."""
        low, high = ranges.outcome
        return risk / n * ((high - low) / 2) ** 2

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks: a regressor of one outcome, of dense finite records, not a precise one."""
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True),
            regressor_tags=RegressorTags(poor_score=True),
            input_tags=InputTags(),
            non_deterministic=self.seed is None,
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there are coefficients."""
        return hasattr(self, "coef_")

    def source(self, n: int, d: int) -> GaussianSource:
        """Where the noise for n records with d columns comes from. Warns where floats have holes; raises `DomainError`
        where sums of so many records are not rounded well enough for OpenDP.
        """
        if self.seed is not None:
            if self.noise == "opendp":
                raise DomainError("seed", self.seed, "None with noise = opendp, which nobody can draw again")
            return GaussianSource(np.random.default_rng(count("seed", self.seed, least=0)))
        if choice("noise", self.noise or ("opendp" if opendp.installed() else "numpy"), ("opendp", "numpy")) == "numpy":
            message = (
                "noise of floats has known holes for who sees every bit of a release; pip install 'dpbounds[opendp]' "
                "has none"
            )
            warnings.warn(message, stacklevel=3)
            return GaussianSource(np.random.default_rng())
        if n * d**0.5 > MOST_ROUNDED:
            raise DomainError("n", n, f"at most {MOST_ROUNDED / d**0.5:.3g} with d = {d} and noise = opendp")
        return OpenDPSource()

    def _keep(
        self,
        problem: LeastSquares,
        ranges: Ranges,
        settings: TailAveraged,
        source: GaussianSource,
        names: Sequence[str] | None,
    ) -> LinearRegression:
        theta, self.release_ = tail_release(problem, settings, source)
        self.coef_, self.intercept_ = ranges.in_units(theta)
        self.resolved_ = self.release_.resolved
        self.theta_ = theta
        self.ranges_, self.settings_, self.mu_ = ranges, settings, settings.mu
        self.n_features_in_, self.n_records_ = len(ranges.columns), problem.n
        self.noise_ = "opendp" if isinstance(source, OpenDPSource) else "numpy"
        self.event_ = {"kind": "gaussian", "noise_multiplier": 1.0 / settings.mu, "steps": 1}
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        return self


def _names(X: Any) -> list[str] | None:
    """Of the columns of a data frame, where all are text."""
    columns = getattr(X, "columns", None)
    names = None if columns is None else list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def _pairs(given: Any, names: Sequence[str] | None, columns: int) -> tuple[Range, ...]:
    """A range for each column."""
    if isinstance(given, Mapping):
        missing = [name for name in names or () if name not in given]
        if names is None or missing:
            one = "one pair, or one for each column: X has no names"
            raise DomainError("ranges", given, f"a pair for each column, {missing[0]} too" if missing else one)
        return tuple(given[name] for name in names)
    array = real_array("ranges", given)
    pairs = np.tile(array, (columns, 1)) if array.ndim == 1 else array
    if pairs.shape != (columns, 2):
        raise DomainError("ranges", f"an array of shape {array.shape}", f"one pair, or one for each of {columns}")
    return tuple((float(low), float(high)) for low, high in pairs)


def _finite(name: str, values: Any, axes: int) -> np.ndarray:
    array = real_array(name, values)
    if array.ndim == axes and not array.size:
        empty = "feature(s)" if len(array) else "sample(s)"
        raise DomainError(name, f"0 {empty} (shape={array.shape}) while a minimum of 1 is required", "not empty")
    if array.ndim != axes:
        allowed = "of shape (n, d)" if axes == 2 else "of shape (n,)"
        raise DomainError(name, f"an array of shape {array.shape}", allowed, "Reshape your data")
    if not (np.abs(array) <= LARGEST).all():
        raise DomainError(name, "an array with larger entries, inf or NaN", f"finite, at most {LARGEST:g} in size")
    return array
