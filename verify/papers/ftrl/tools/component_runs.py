"""Runs of Noisy-FTRL split into the components of ftrl Appendix D, with everything its events speak of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.ftrl.finite_time import Horizon
from simulators.engine import Arrays, Experiment, Streams
from simulators.ftrl import LinearRegression, Settings, linear_regression
from simulators.ftrl.linear_regression import Inputs
from verify.checks import Agreement, Event, Fact, Holds, Within


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A problem of Assumption D.1 (Gaussian inputs or signs) with a budget: independent noise, or nu = eta mu."""

    label: str
    eigenvalues: tuple[float, ...]
    inputs: Inputs = "gaussian"
    sigma_sgd: float = 0.0
    initial: tuple[float, ...] | None = None
    correlated: bool = False
    rho: float = 1.0

    @property
    def problem(self) -> LinearRegression:
        """For the simulator."""
        return LinearRegression(
            eigenvalues=self.eigenvalues, sigma_sgd=self.sigma_sgd, inputs=self.inputs, initial=self.initial
        )

    @property
    def r_squared(self) -> float:
        """Smallest R^2: Tr H + (E z^4 - 1) lambda_1."""
        return sum(self.eigenvalues) + (self.problem.kurtosis - 1.0) * max(self.eigenvalues)

    @property
    def distance(self) -> float:
        """||theta'_0||."""
        return 0.0 if self.initial is None else float(np.linalg.norm(self.initial))

    def horizon(self, steps: int, failure: float) -> Horizon:
        """The same over finitely many steps, with probability 1 - `failure`."""
        return Horizon(
            eigenvalues=np.array(self.eigenvalues),
            steps=steps,
            failure=failure,
            initial_distance=self.distance,
            sigma_sgd=self.sigma_sgd,
            R_squared=self.r_squared,
        )

    def correlation(self, eta: float) -> correlations.ToeplitzCorrelation:
        """The noise at this learning rate."""
        return correlations.nu(eta * min(self.eigenvalues)) if self.correlated else correlations.independent()

    def settings(self, eta: float, steps: int, *, clip_norm: float = 1.0, clipping: bool) -> Settings:
        """Algorithm 1 with the limiting sensitivity."""
        return Settings(
            correlation=self.correlation(eta),
            eta=eta,
            rho=self.rho,
            steps=steps,
            clip_norm=clip_norm,
            clipping=clipping,
            sensitivity="limiting",
        )

    def unclipped(self, label: str, settings: Settings, p: float, block_trials: int) -> Event:
        """That a run clips no gradient, which has probability 1 - p at least."""
        experiment = Experiment(
            algorithm=linear_regression, problem=self.problem, settings=settings, block_trials=block_trials
        )
        return Event(label=label, experiment=experiment, occurs=lambda arrays: arrays["clipped"] == 0, at_least=1 - p)


def component_run(problem: LinearRegression, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """theta'_t = hat + sgd + dp (ftrl Property D.2) for t < T = settings.steps, all on the same draws.

    Arrays with leading axis trials, each the largest over t (and tau): those of `iterate_run`, and `sgd ratio`
    ||theta^sgd||^2 / (eta^2 sigma^2 Tr Sigma^sgd), `dp ratio` likewise; `W ratio` Tr W_{t,tau} (1 - eta mu)^{-(t - 1 -
    tau)}; `U ratio` Tr U_{t,tau} over the sum of (78) and `U ratio squared` over its square. Needs a Toeplitz
    correlation and eta mu < 1.
    """
    return _run(problem, settings, streams, _Responses(problem, settings, trials))


def iterate_run(problem: LinearRegression, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """The components alone, for t < T: the largest `inputs` ||x||^2, `residuals` xi^2, `hat`, `sgd`, `dp`, `all`
    (squared norms), `gradients` ||g||.
    """
    return _run(problem, settings, streams, _Components(problem, settings, trials))


def components(problem: LinearRegression, settings: Settings) -> Experiment:
    """The experiment of `component_run`."""
    return Experiment(algorithm=component_run, problem=problem, settings=settings, block_trials=1000)


def iterates(problem: LinearRegression, settings: Settings) -> Experiment:
    """The experiment of `iterate_run`."""
    return Experiment(algorithm=iterate_run, problem=problem, settings=settings, block_trials=2000)


def _run(problem: LinearRegression, settings: Settings, streams: Streams, state: _Components) -> Arrays:
    for noise in settings.noise(state.hat.shape, streams.noise):
        inputs = problem.draw(streams.data, noise.shape[:2])
        residuals = problem.sigma_sgd * streams.data.standard_normal(noise.shape[:2])
        for w, x, xi in zip(noise, inputs, residuals, strict=True):
            state.look(x, xi)
            state.step(x, xi, w)
    return state.largest


class _Components:
    """The state of all trials, and the running maxima."""

    def __init__(self, problem: LinearRegression, settings: Settings, trials: int) -> None:
        d = len(problem.eigenvalues)
        self.problem, self.settings = problem, settings
        self.largest: Arrays = {}
        self.hat = np.tile(np.zeros(d) if problem.initial is None else problem.initial, (trials, 1))
        self.sgd, self.dp = np.zeros((trials, d)), np.zeros((trials, d))

    def look(self, x: np.ndarray, xi: np.ndarray) -> None:
        """Record step t."""
        theta, squared_norm = self.hat + self.sgd + self.dp, _squared(x)
        self.see("inputs", squared_norm)
        self.see("residuals", xi**2)
        self.see("gradients", np.abs(np.sum(x * theta, axis=1) - xi) * np.sqrt(squared_norm))
        for name, part in (("hat", self.hat), ("sgd", self.sgd), ("dp", self.dp), ("all", theta)):
            self.see(name, _squared(part))

    def step(self, x: np.ndarray, xi: np.ndarray, w: np.ndarray) -> None:
        """Advance everything by Q_t = I - eta x x^T and the new inputs."""
        eta = self.settings.eta
        self.hat = _apply(self.hat, x, eta)
        self.sgd = _apply(self.sgd, x, eta) + eta * xi[:, None] * x
        self.dp = _apply(self.dp, x, eta) - eta * w

    def see(self, name: str, values: np.ndarray) -> None:
        """Keep the larger."""
        self.largest[name] = np.maximum(self.largest.get(name, np.zeros_like(values)), values)


class _Responses(_Components):
    """Beside the components what every past x xi and every past draw left in theta_t."""

    def __init__(self, problem: LinearRegression, settings: Settings, trials: int) -> None:
        super().__init__(problem, settings, trials)
        d, T = len(problem.eigenvalues), settings.steps
        self.t, self.beta = 0, settings.correlation.matrix(T)[:, 0]
        self.contraction = 1.0 - settings.eta * min(problem.eigenvalues)
        # (78): sum_{k<=tau} |beta_k| (1 - eta mu)^{(tau-k)/2}.
        self.weighted = np.convolve(np.abs(self.beta), self.contraction ** (np.arange(T) / 2))[:T]
        self.pushed = np.zeros((trials, 0, d))  # Q_{t-1} ... Q_{tau+1} x_tau
        self.response = np.zeros((trials, 0, d, d))  # V_{t,t-1-s} for the draw of step s

    def look(self, x: np.ndarray, xi: np.ndarray) -> None:
        """Record step t and what it remembers."""
        super().look(x, xi)
        if self.t == 0:
            return
        lags = np.arange(self.t - 1, -1, -1)
        W, U = _squared(self.pushed), np.sum(self.response**2, axis=(2, 3))
        self.see("W ratio", np.max(W / self.contraction**lags, axis=1))
        self.see("U ratio", np.max(U / self.weighted[lags], axis=1))
        self.see("U ratio squared", np.max(U / self.weighted[lags] ** 2, axis=1))
        noise_scale = self.settings.noise_multiplier * self.settings.clip_norm
        for name, part, scale, total in (
            ("sgd ratio", self.sgd, self.problem.sigma_sgd, W.sum(axis=1)),
            ("dp ratio", self.dp, noise_scale, U.sum(axis=1)),
        ):
            if scale > 0:
                self.see(name, _squared(part) / ((self.settings.eta * scale) ** 2 * total))

    def step(self, x: np.ndarray, xi: np.ndarray, w: np.ndarray) -> None:
        """Advance components and responses."""
        super().step(x, xi, w)
        eta, d = self.settings.eta, x.shape[1]
        self.pushed = np.concatenate([_apply(self.pushed, x[:, None], eta), x[:, None]], axis=1)
        turned = np.swapaxes(_apply(np.swapaxes(self.response, 2, 3), x[:, None, None], eta), 2, 3)
        response = np.concatenate([turned, np.zeros((len(x), 1, d, d))], axis=1)
        self.response = response + self.beta[self.t :: -1][:, None, None] * np.eye(d)
        self.t += 1


def _apply(vectors: np.ndarray, x: np.ndarray, eta: float) -> np.ndarray:
    """(I - eta x x^T) v for vectors along the last axis."""
    return vectors - eta * np.sum(vectors * x, axis=-1, keepdims=True) * x


def _squared(vectors: np.ndarray) -> np.ndarray:
    return np.sum(vectors**2, axis=-1)


# --- clipping or not, on the same draws ---


def _coincidence(rng: np.random.Generator, clip_norm: float = 9.0) -> Iterator[Fact | Within | Holds]:
    """DP-FTRL with G = 9 and Noisy-FTRL on the same draws: equal bit for bit where no gradient exceeds `clip_norm`."""
    problem = LinearRegression(eigenvalues=(1.0, 0.3), sigma_sgd=0.5, initial=(1.0, -1.0))
    seed, ends = int(rng.integers(2**31)), []
    for clipping in (True, False):
        settings = Settings(
            correlation=correlations.nu(0.02), eta=0.05, rho=2.0, steps=30, clip_norm=9.0, clipping=clipping
        )
        source = Experiment(algorithm=linear_regression, problem=problem, settings=30, block_trials=400)
        ends.append(linear_regression(problem, settings, source.streams(0, seed=seed), 400))
    inside = ends[1]["largest_gradient"] <= clip_norm
    yield Fact("theta_T on the event", ends[0]["theta"][inside], ends[1]["theta"][inside], 0)
    yield Holds("the event is that DP-FTRL clips nothing", bool(np.array_equal(ends[0]["clipped"] == 0, inside)))
    yield Within("share of the runs in the event", inside.mean(), 1 / 400, 1 - 1 / 400)
    one = Settings(correlation=correlations.nu(0.02), eta=0.05, rho=np.inf, steps=1, clip_norm=0.4)
    source = Experiment(algorithm=linear_regression, problem=problem, settings=1, block_trials=400)
    after = linear_regression(problem, one, source.streams(0, seed=seed), 400)
    lengths = np.linalg.norm(after["theta"] - np.array([1.0, -1.0]), axis=1)
    stated = 0.05 * np.minimum(after["largest_gradient"], 0.4)
    yield Fact("length of one step without noise", lengths, stated, 1e-12)


COINCIDENCE = Agreement(facts=_coincidence, impostors={"event at 0.8 G": {"facts": {"clip_norm": 7.2}}})
