"""Released packages with broken and with right guarantees, audited: how many are refuted, and is a right one?

    pip install --no-deps --target DIR/NAME-VERSION NAME==VERSION      # for each package of `releases`
    python -m tests.power.releases --packages DIR --seconds 50

Nothing is installed here. What is broken was read in the sources and in their issues: `why` says it.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds.audit import Box, audit, gaussian, laplace


@dataclass(frozen=True)
class Release:
    """A mechanism of a package, made by `make` once the package is on the path; `why` it is broken, or nothing."""

    package: str
    name: str
    why: str
    make: Callable[[], Callable[..., Any]]
    domain: Any
    law: Any = "unknown"
    claim: Any = 1.0
    adjacency: Any = "replace-one"


def module(name: str, *bare: str) -> Any:
    """A module of the package; packages `bare` without their own __init__, which may need other libraries."""
    for one in bare:
        empty = types.ModuleType(one)
        empty.__path__ = [str(Path(folder, *one.split("."))) for folder in sys.path]
        sys.modules[one] = empty
    return importlib.import_module(name)


def flat(*parts: Any) -> np.ndarray:
    return np.concatenate([np.ravel(part) for part in parts])


def ibm(name: str) -> Any:
    return module(f"diffprivlib.{name}", "diffprivlib", "diffprivlib.models")


def moments(low: float) -> Callable[[], Callable[..., Any]]:
    """The noisy moments of `LinearRegression`, from which its coefficients follow."""

    def make():
        made = ibm("models.linear_regression")._construct_regression_obj
        ends = (np.full(2, low), np.ones(2)), (np.full(1, low), np.ones(1))
        settings = {"epsilon": 1.0, "alpha": 0}

        def run(data, seed):
            _, parts = made(data["X"], data["y"], *ends, random_state=np.random.RandomState(seed), **settings)
            return flat(parts[0], parts[1], parts[2][np.triu_indices(2)])

        return run

    return make


def wishart():
    mechanism = ibm("mechanisms").Wishart().set_epsilon(1.0).set_sensitivity(1.0)

    def run(data, seed):
        rows = data / np.maximum(np.linalg.norm(data, axis=1, keepdims=True), 1.0)
        return mechanism.randomise(rows.T @ rows)[np.triu_indices(2)]

    return run


def least_squares():
    sys.modules["dp_learning_ff.mechanisms"] = types.SimpleNamespace(LeastSquaresCDPM=0, calibrate_single_param=0)  # pyright: ignore
    fit = module("dp_learning_ff.least_squares", "dp_learning_ff").LeastSquaresClassifier.dp_least_squares
    return lambda data, seed: fit(data, np.arange(8) % 2, 0.1, 1.0, 1.0, 20.0)


def anonymizer(name: str, statistic: Callable[..., Any], *bounds: float) -> Callable[[], Callable[..., Any]]:
    def make():
        one = module("diffpriv_laplace.laplace_mechanism").DiffPrivLaplaceMechanism(1.0)
        return lambda data, seed: getattr(one, f"anonymize_{name}")(statistic(data), *bounds)

    return make


def energy(name: str, settings: dict[str, Any], data: str = "values", **more: Any) -> Callable[[], Callable[..., Any]]:
    def make():
        one = getattr(module("eeprivacy.operations"), name)(**settings)
        return lambda rows, seed: one.execute(**{data: rows}, **more)

    return make


def pure(name: str, *more: Any, whole: bool = False) -> Callable[[], Callable[..., Any]]:
    def make():
        function = getattr(module("diffpriv_pure"), name)
        return lambda data, seed: function(int(data.sum()) if whole else list(data), *more)

    return make


def codes():
    function = module("trasgodp.categorical").dp_exponential_array
    return lambda data, seed: function(data.astype(str), 1.0).astype(float)


def ibm_mean(**ranges: Any) -> Callable[[], Callable[..., Any]]:
    def make():
        tools = ibm("tools")
        return lambda data, seed: tools.mean(data, epsilon=1.0, axis=0, **ranges)

    return make


def releases() -> list[Release]:
    rows = [*diffprivlib(), *eeprivacy(), *diffpriv_pure(), *diffpriv_laplace()]
    square, codes_of = Box(shape=(8, 2), low=-1, high=1), Box(shape=(3,), low=0, high=3, integer=True)
    law, claim = gaussian(), (1.0, 1e-5)
    rows.append(Release("dp-learning-ff-0.0.8", "least squares", "a fixed seed", least_squares, square, law, claim))
    rows.append(Release("trasgodp-2.1.0", "exponential", "categories of the data", codes, codes_of, "discrete"))
    return rows


def diffprivlib() -> Iterator[Release]:
    old, new = "diffprivlib-0.2.1", "diffprivlib-0.6.6"
    for low, why in ((0.0, "a lower bound is used twice"), (-1.0, "")):
        domain = {"X": Box(shape=(20, 2), low=low, high=1), "y": Box(shape=(20,), low=low, high=1)}
        yield Release(new, f"LinearRegression ({low:g}, 1)", why, moments(low), domain)
    cube = Box(shape=(20, 3), low=-1, high=1)
    yield Release(old, "mean", "epsilon for each", ibm_mean(range=[2.0] * 3), cube, laplace())
    yield Release(new, "mean", "", ibm_mean(bounds=(-1, 1)), cube, laplace())
    yield Release(old, "Wishart", "deprecated in 0.4 for it", wishart, Box(shape=(6, 2), low=-1, high=1))


def eeprivacy() -> Iterator[Release]:
    package, sides = "eeprivacy-0.0.5", {"lower_bound": 0, "upper_bound": 1}
    wide, vectors, line = {"k": 3, "N": 10, **sides}, Box(shape=(10, 3), low=0, high=1), Box(shape=(10,))
    make = energy("PrivateVectorClampedMeanLaplace", wide, "vectors", epsilon=1.0, delta=0)
    yield Release(package, "mean, Laplace", "one draw for all coordinates", make, vectors, laplace())
    make = energy("PrivateVectorClampedMeanGaussian", wide, "vectors", epsilon=1.0, delta=1e-5)
    yield Release(package, "mean, Gaussian", "", make, vectors, gaussian(), (1.0, 1e-5))
    yield Release(package, "mean", "nothing is clamped", energy("PrivateClampedMean", sides, epsilon=1.0), line)
    yield Release(package, "sum", "", energy("PrivateClampedSum", sides, epsilon=1.0), line, laplace())


def diffpriv_pure() -> Iterator[Release]:
    package, unit, low = "diffpriv-pure-0.1.0", Box(shape=(5,), low=0, high=1), (20.0, 1e-5)
    answers, count = Box(shape=(5,), low=0, high=1, integer=True), pure("private_count", 1.0, whole=True)
    yield Release(package, "count", "one-sided noise", count, answers, "discrete", adjacency="add-remove")
    yield Release(package, "sum", "", pure("private_sum", (0, 1), 1.0), unit, laplace())
    make = pure("private_sum", (0, 1), *low)
    yield Release(package, "Gaussian sum", "the classical sigma at 20", make, unit, gaussian(), low)


def diffpriv_laplace() -> Iterator[Release]:
    package, ten = "diff-priv-laplace-python-1.0.5", Box(shape=(9,), low=0, high=10)
    for name, statistic in (("max", np.max), ("min", np.min), ("median", np.median)):
        yield Release(package, name, "sensitivity 1 at any range", anonymizer(name, statistic), ten, laplace())
    yield Release(package, "mean", "", anonymizer("mean", np.mean, 0, 10, 9), ten, laplace())
    yield Release(package, "variance", "", anonymizer("variance", np.var, 0, 10, 9), ten, laplace())


def verdict(number: int, folder: str, seconds: float) -> tuple[str, float]:
    """In a process of its own, since versions of one package exclude one another."""
    row = releases()[number]
    sys.path.insert(0, str(Path(folder, row.package)))
    found = audit(row.make(), row.claim, adjacency=row.adjacency, domain=row.domain, law=row.law, seconds=seconds)
    return found.verdict, found.epsilon[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", required=True, help="the folder of NAME-VERSION folders")
    parser.add_argument("--seconds", type=float, default=50.0)
    arguments = parser.parse_args()
    rows, refuted, alarms = releases(), 0, 0
    for number, row in enumerate(rows):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            word, least = pool.submit(verdict, number, arguments.packages, arguments.seconds).result()
        refuted, alarms = refuted + bool(row.why and word == "refuted"), alarms + (not row.why and word == "refuted")
        print(f"{row.package:32} {row.name:26} {row.why or 'right':28} {word:12} {least:.4g}", flush=True)
    print(f"{refuted} of {sum(bool(row.why) for row in rows)} broken ones refuted, {alarms} right ones")
    return 1 if alarms else 0


if __name__ == "__main__":
    raise SystemExit(main())
