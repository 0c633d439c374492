"""Where users wait: bounds, tables, commands and exact errors, each against its peer or its floor in the same run.

    pytest benchmarks/test_waiting.py -n 0 --benchmark-enable

prints a line for each: median CPU times on one core, the two sides timed in turn, their ratio, and what is aimed at.
Commands are timed as processes, imports included. Nothing is asserted about time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import ellipkm1
from threadpoolctl import threadpool_limits

from benchmarks.interleaved import medians
from dpbounds import elliptic
from dpbounds.ftrl import correlations
from dpbounds.ftrl import strongly_convex as sc
from dpbounds.ftrl.correlations import matrices
from dpbounds.ftrl.linear_regression import Regression, exact, suboptimality, trajectory
from dpbounds.ftrl.strongly_convex import optimise
from dpbounds.iv import Moments
from simulators.engine import Streams
from simulators.ftrl.linear_regression import LinearRegression, linear_regression
from simulators.ftrl.settings import Settings
from simulators.noise import correlated_noise

MILLI = 1e3
KAPPAS = [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4]
NOTHING = [sys.executable, "-c", "import numpy, scipy.special, flint"]


@pytest.fixture
def say(capsys, benchmark):
    """Print a line and keep its numbers in the benchmark's file."""

    def _say(label: str, ours: float, peer: float, of: str, aim: str) -> None:
        benchmark.extra_info.update(seconds=ours, peer=peer, ratio=peer / ours)
        benchmark.pedantic(lambda: None, rounds=1)
        with capsys.disabled():
            print(f"\n{label}: {MILLI * ours:.3g} ms; {of} {MILLI * peer:.3g} ms, ratio {peer / ours:.3g}; aim: {aim}")

    return _say


@pytest.mark.parametrize(("lags", "certify", "aim"), [(20, True, 10), (50, True, 40), (20, False, 40), (50, False, 40)])
def test_bound_against_the_cone_program(say, lags, certify, aim):
    arguments: dict[str, Any] = {"max_lag": lags, "program": "f"}

    def bound(**options: Any) -> sc.ConvexBound:
        problem = sc.StronglyConvex(mu=0.01, L=1.0, eta=0.1, rho=0.5)
        return sc.bound(correlations.nu(0.01), problem, **arguments, **options)

    cone, *_ = found = medians(
        lambda: bound(method="cone", certify=False), *[lambda: bound(certify=certify)] * 5, rounds=5
    )
    label = f"bound, kappa 100, {lags} lags, {'certified' if certify else 'not certified'}"
    say(label, float(np.median(found[1:])), cone, "cone program, not certified", f"{aim} times as fast")


def test_table_of_three_mechanisms(say):
    """As `solve ftrl` does it: independent, best nu, optimal, at ten condition numbers."""

    def table() -> None:
        optimise._searched.cache_clear()
        for kappa in KAPPAS:
            problem = sc.StronglyConvex(mu=1.0 / kappa, L=1.0, eta=0.1, rho=0.5)
            sc.bound(correlations.independent(), problem, program="f")
            sc.best_nu(problem, program="f")
            sc.optimize_correlation(problem, program="f")

    def cone() -> None:
        sc.bound(
            correlations.nu(0.01),
            sc.StronglyConvex(mu=0.01, L=1.0, eta=0.1, rho=0.5),
            method="cone",
            certify=False,
            program="f",
        )

    ours, peer = medians(table, cone, rounds=3)
    say("3 mechanisms x 10 kappa, certified", ours, peer, "one cone program", "1500 ms")


@pytest.mark.parametrize(
    ("command", "aim"),
    [
        ("solve --check {saved}", "400 ms"),
        ("solve ftrl --kappa 100 --eta 0.1 --mechanism sgd", "600 ms"),
        ("solve iv --help", "600 ms"),
        ("list ftrl", "600 ms"),
    ],
)
def test_commands(say, tmp_path, command, aim):
    saved = tmp_path / "nine.json"
    if "{saved}" in command:
        make = "solve ftrl --kappa 10 100 1000 --eta 0.1 --mechanism sgd nu optimal --certify --save"
        _run(f"{make} {saved}")
    ours, floor = _processes(lambda: _run(command.format(saved=saved)), lambda: subprocess.run(NOTHING, check=True))
    say(f"dpbounds {command.split(' --k')[0]}", ours, floor, "importing numpy, scipy.special and flint", aim)


def _run(command: str) -> None:
    code = "import sys; from verify.cli import main; sys.exit(main(sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", code, *command.split()], capture_output=True, check=True)


def _processes(*actions: Callable[[], object], rounds: int = 5) -> list[float]:
    """Median CPU seconds of the processes that the actions start."""
    seconds = np.empty((rounds, len(actions)))
    for round_ in seconds:
        for which, action in enumerate(actions):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            action()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            round_[which] = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return np.median(seconds, axis=0).tolist()


def test_suboptimality_in_many_directions(say):
    spectrum = 1.0 / np.arange(1.0, 10_001.0)
    spectrum /= spectrum.sum()
    correlation = correlations.nu(0.01)
    x = 0.01 * spectrum
    ours, floor = medians(
        lambda: suboptimality(correlation, Regression(eigenvalues=spectrum, eta=0.01, rho=1.0)),
        lambda: elliptic.integral_ratio(0.01, x),
        rounds=51,
    )
    say("suboptimality, d = 10^4", ours, floor, "its elliptic integrals", "1.5 ms")


def test_elliptic_integrals(say):
    a = np.geomspace(1e-9, 1.0, 10_000)
    ours, floor = medians(lambda: elliptic.integral_inverse(a), lambda: ellipkm1(a * (2.0 - a)), rounds=101)
    say("integral_inverse, 10^4 points", ours, floor, "scipy's ellipkm1", "0.15 ms")


def test_two_stage_least_squares(say):
    rng = np.random.default_rng(0)
    n, p = 100_000, 5
    Z, errors = rng.normal(size=(n, p)), rng.normal(size=(n, p))
    X = Z @ rng.normal(size=(p, p)) + errors
    Y = X.sum(axis=1) + rng.normal(size=n)

    def plain() -> np.ndarray:
        theta = np.linalg.solve(Z.T @ Z, Z.T @ X)
        return np.linalg.solve(theta.T @ (Z.T @ X), theta.T @ (Z.T @ Y))

    assert Moments.of(Z, X, Y).beta_hat == pytest.approx(plain(), rel=1e-10)
    ours, peer = medians(lambda: Moments.of(Z, X, Y).beta_hat, plain, rounds=31)
    say("2SLS, n = 10^5, p = q = 5", ours, peer, "numpy without checks", "2 ms")


def test_long_trajectories(say, monkeypatch):
    spectrum = 1.0 / np.arange(1.0, 129.0)
    spectrum /= spectrum.sum()

    def run() -> np.ndarray:
        return trajectory(correlations.nu(0.01), Regression(eigenvalues=spectrum, eta=0.1, rho=1.0), steps=100_000)

    def by_steps() -> np.ndarray:
        with monkeypatch.context() as patch:
            patch.setattr(exact, "LONG", 10**9)
            return run()

    assert run() == pytest.approx(by_steps(), rel=1e-12)
    ours, floor = medians(run, by_steps, rounds=3)
    say("trajectory, d = 128, T = 10^5", ours, floor, "the recursion step by step", "250 ms")


@pytest.mark.parametrize(
    ("name", "aim"),
    [("independent", "1.0 times"), ("nu 0.01", "1.5 times"), ("counting", "1.5 times"), ("best", "2 times")],
)
def test_streams_against_their_normals(say, name, aim):
    made = {
        "independent": correlations.independent,
        "nu 0.01": lambda: correlations.nu(0.01),
        "counting": correlations.optimal_counting,
        "best": lambda: (
            sc.optimize_correlation(
                sc.StronglyConvex(mu=0.01, L=1.0, eta=0.1, rho=0.5), certify=False, program="f"
            ).correlation
        ),
    }
    correlation, shape, steps = made[name](), (16, 128), 10_000

    def stream() -> None:
        for _ in correlated_noise(correlation, steps, shape, np.random.default_rng(0)):
            pass

    ours, floor = medians(stream, lambda: _draw(steps, shape), rounds=5)
    say(f"stream of {name}, {steps} steps of {shape}", ours, floor, "its normals", aim)


@pytest.mark.parametrize("kappa", [1e2, 1e4, 1e6])
def test_memory_of_a_stream(capsys, kappa):
    """Of a whole process that finds the optimal correlation and streams its noise, beyond its imports, against what the
    draws of the run would take.
    """
    code = (
        "import resource, sys, numpy as np; import flint, scipy.linalg, scipy.optimize, scipy.signal; "
        "from dpbounds.ftrl import strongly_convex as sc; from simulators.noise import correlated_noise; "
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024; imported = peak(); "
        "problem = sc.StronglyConvex(mu=1 / float(sys.argv[1]), L=1.0, eta=0.1, rho=0.5); "
        "best = sc.optimize_correlation(problem, certify=False).correlation; "
        "[None for _ in correlated_noise(best, 100_000, 128, np.random.default_rng(0))]; "
        "print(peak() - imported)"
    )
    command = [sys.executable, "-c", code, f"{kappa:g}"]
    used = float(subprocess.run(command, capture_output=True, check=True).stdout)
    draws = 100_000 * 128 * 8 / 2**20
    with capsys.disabled():
        label = f"stream of the optimal correlation, kappa {kappa:g}, 100000 steps of 128"
        print(f"\n{label}: {used:.0f} MB beyond imports; its draws {draws:.0f} MB; aim: 100 MB")


@pytest.mark.parametrize("trials", [16, 64, 256])
def test_clipped_regression_against_its_normals(say, trials):
    d, steps = 64, 128_000 // trials
    problem = LinearRegression(eigenvalues=tuple((1.0 / np.arange(1.0, d + 1)).tolist()), sigma_sgd=0.5)
    settings = Settings(correlation=correlations.independent(), eta=0.1, rho=1.0, steps=steps)

    def run() -> None:
        generators = [np.random.default_rng(seed) for seed in range(3)]
        streams = Streams(noise=generators[0], data=generators[1], initial=generators[2])
        linear_regression(problem, settings, streams, trials)

    ours, floor = medians(run, lambda: _draw(2 * steps, (trials, d)), rounds=5)
    say(f"clipped regression, {trials} trials, d = {d}", ours, floor, "its normals", "1.4 times")


def _draw(steps: int, shape: tuple[int, ...]) -> None:
    generator, buffer = np.random.default_rng(0), np.empty((48, *shape))
    for start in range(0, steps, 48):
        generator.standard_normal(out=buffer[: min(48, steps - start)])


@pytest.mark.parametrize(("T", "bands"), [(256, 16), (1024, 16), (1024, 64)])
def test_banded_matrices(say, monkeypatch, T, bands):
    """The whole search, against as many evaluations by dense solves as it takes (some 90 to 240)."""
    rng = np.random.default_rng(0)
    encoding = np.eye(T) + 1e-3 * np.tril(rng.standard_normal((T, T)), -1)

    def dense() -> np.ndarray:
        product = np.linalg.solve(encoding.T, np.tri(T).T).T
        return -2.0 * np.linalg.solve(encoding, product.T @ product).T

    def counted(*arguments: Any) -> tuple[float, np.ndarray]:
        evaluations.append(None)
        return evaluate(*arguments)

    evaluate, evaluations = matrices._squared_error, []
    with monkeypatch.context() as patch, threadpool_limits(1):
        patch.setattr(matrices, "_squared_error", counted)
        started = time.process_time()
        correlations.banded(T, bands)
        ours = time.process_time() - started
    (peer,) = medians(dense, rounds=3)
    label = f"banded({T}, {bands}), {len(evaluations)} evaluations"
    say(label, ours, len(evaluations) * peer, "as many by dense solves", "25 s at T = 1024, 16 bands")
