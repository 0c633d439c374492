"""What the fuzzer hands to functions, as Python expressions: a failing call prints as a line that can be run again.

`HOSTILE` holds what no function should trip over. `valid` holds what a parameter takes, by its annotation and its name,
so that one hostile argument among good ones gets past the first check.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator
from decimal import Decimal  # noqa: F401  (the expressions use it)
from fractions import Fraction  # noqa: F401
from functools import cache
from types import UnionType
from typing import Any

# Evaluated before the first call; the expressions below may use all of it.
PRELUDE = """
import math, os, sys, dpbounds, simulators
from decimal import Decimal
from fractions import Fraction
import numpy as np
import mpmath
from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl import correlations, strongly_convex
from dpbounds import iv
from simulators import ftrl as runs, iv as stages
from simulators.engine import Streams
from dpbounds.iv.isotropic import Isotropic
from dpbounds import glm, ols
from simulators import glm as models, ols as records
DATA = records.LeastSquares(regressors=np.random.default_rng(2).uniform(-0.5, 0.5, (40, 3)), outcome=np.ones(40) / 2)
NORMAL = models.GaussianModel(link=glm.links.logistic, w=np.array([1.0, 0.5]), n=50, m=40, covariance=np.eye(2))
COMPARED = ols.compare(DATA.statistics, 2.0, 0.01)
from simulators.iv import confidence
WEAK = confidence.WeakInstruments(n=50, q=2, strength=10.0)
CYCLE = []; CYCLE.append(CYCLE)
Z = np.random.default_rng(1).standard_normal((40, 3)); X = Z[:, :2] + 0.1; Y = X @ [1.0, 2.0] + 0.1 * Z[:, 2]
MOMENTS = iv.Moments.of(Z, X, Y)
SCALAR = iv.Moments.of(Z[:, :1], X[:, :1], Y)
DESIGN = iv.Design(n=5000, p=2, q=3, theta_norm=2.0, theta_least=1.0)
BOUNDS = iv.spectrum(DESIGN)
ISOTROPIC = Isotropic(singular_values=np.array([2.0, 1.0]), beta=np.array([1.0, 2.0]), q=3, eta=0.1, alpha=0.1)
ORDER = iv.noise_expansion(MOMENTS, 0.1, 0.1, 5)
PROGRAM = strongly_convex.Program(name="f", mu=0.1, L=1.0, eta=0.1)
NOISE = strongly_convex.Noise(correlation=correlations.nu(0.1), rho=0.5)
TREE = correlations.tree_aggregation(4)
RUN = runs.Settings(correlation=correlations.nu(0.1), eta=0.1, rho=0.5, steps=6)
STAGES = stages.Settings(steps=4, eta=0.1, alpha=0.1)
FIXED = stages.FixedData(instruments=Z, regressors=X, outcome=Y)
LOSS = runs.Quadratic(eigenvalues=(1.0, 0.5))
generators = np.random.default_rng
STREAMS = Streams(noise=generators(1), data=generators(2), initial=generators(3))
"""

HOSTILE = (
    *("None", "'text'", "''", "b'bytes'", "'0.5'", "object()", "object", "len", "lambda *_: None", "lambda *_: 'text'"),
    *("math.nan", "math.inf", "-math.inf", "0", "-1", "0.0", "-0.5", "1e-300", "5e-324", "1e300", "1.7e308", "1e-16"),
    *("10**400", "-10**400", "10**7", "10**10", "2**63", "1 - 2**-53", "True", "False", "np.bool_(True)", "1j"),
    *("np.float32(0.1)", "np.float64(0.5)", "np.int64(3)", "np.uint8(200)", "np.longdouble(0.3)", "np.complex128(1)"),
    *("Fraction(1, 3)", "Decimal('0.1')", "np.datetime64('2020-01-01')", "np.str_('0.5')", "mpmath.mpf(0.1)"),
    *("[]", "()", "{}", "{'a': 1}", "set()", "CYCLE", "range(3)", "iter([1.0])", "[1.0, 'a']", "[None]", "[[[]]]"),
    *("[[1.0, 2.0], [3.0]]", "[0.5, 0.25]", "(1.0, 10**400)", "[True, False]", "[1e300, 1e-300]", "[-1.0, 0.0]"),
    *("np.array([])", "np.array(0.5)", "np.array(['a'])", "np.array([1.0, math.nan])", "np.array([1, 2])"),
    *("np.array([None, 'a'], dtype=object)", "np.eye(2)", "np.eye(3)", "np.zeros((2, 0))", "np.full((2, 2), math.inf)"),
    *("np.ones((2, 2, 2))", "np.array([1j, 2])", "np.float32([0.5, 0.25])", "np.array([1.0, 2.0, 4.0])[::-1]"),
    *("np.array([2**62, 1])", "np.array(5, dtype=object)", "np.ones((3, 2))", "np.zeros(3)", "np.full(2, 1e200)"),
    *("MOMENTS", "DESIGN", "BOUNDS", "ORDER", "PROGRAM", "NOISE", "TREE", "RUN", "STAGES", "FIXED", "LOSS", "STREAMS"),
    *("DATA", "NORMAL", "COMPARED"),
    *("correlations.nu(0.1)", "correlations.NuCorrelation", "iv.Moments", "FLOATS", "np.random.default_rng(0)"),
)
# Functions that fail with errors of their own, which are passed on.
FAILING = ("len", "object", "iv.Moments", "correlations.NuCorrelation")

NU, FINITE = "correlations.nu(0.1)", "correlations.from_coefficients([1.0, -0.5])"
CLASSES = {
    "ToeplitzCorrelation": (NU, FINITE, "correlations.independent()", "correlations.anti_pgd()"),
    "Correlation": (NU, FINITE, "TREE"),
    "NuCorrelation": (NU,),
    "FiniteImpulse": (FINITE,),
    "DampedAntiPGD": ("correlations.damped_anti_pgd(0.2)",),
    "MatrixCorrelation": ("TREE",),
    "PowerSpectrum": ("correlations.from_power_spectrum(lambda omega: 2 - np.cos(omega))",),
    "Moments": ("MOMENTS", "SCALAR"),
    "iv.Design": ("DESIGN",),
    "iv.quantities.Design": ("DESIGN",),
    "iv.quantities.Spectrum": ("BOUNDS",),
    "Isotropic": ("ISOTROPIC",),
    "LeadingOrder": ("ORDER",),
    "Program": ("PROGRAM",),
    "Noise": ("NOISE",),
    "Arithmetic": ("FLOATS",),
    "Roots": ("math", "FLOATS"),
    "Generator": ("np.random.default_rng(0)",),
    "Streams": ("STREAMS",),
    "simulators.ftrl.settings.Settings": ("RUN",),
    "simulators.iv.settings.Settings": ("STAGES",),
    "Loss": ("LOSS", "runs.Huber(mu=0.1, L=1.0)"),
    "iv.problems.Problem": ("FIXED", "stages.FixedMoments(given=MOMENTS)"),
    "BetaLaw": ("iv.beta_law(MOMENTS, np.ones((4, 3, 2)), 0.1, 0.1)",),
    "ScalarLaw": ("iv.scalar_law(SCALAR, 0.1, 0.1, lambda1=0.1, lambda2=0.1, steps=3)",),
    "Enforced": ("iv.Enforced(1.0, 1.0, 1.0, 1.0)",),
    "MomentSample": ("FIXED.draw(np.random.default_rng(0), 2, records=True).moments",),
    "RecordSample": ("FIXED.draw(np.random.default_rng(0), 2, records=True)",),
    "ErrorTerms": ("iv.isotropic.isotropic_error_terms(ISOTROPIC, 4)",),
    "LeastSquares": ("DATA",),
    "iv.problems.RecordProblem": ("WEAK",),
    "confidence.controls.CellProblem": ("confidence.CellModel(n=60, cells=2)",),
    "NoiseLaw": ("ols.risk.released(1.0, level=4.0, scale=0.5, tau=2.0)",),
    "Features": ("COMPARED.regime.features",),
    "ols.methods.Compared": ("COMPARED.rows[0]", "COMPARED.rows[-1]"),
    "NewtonDraws": ("records.NewtonDraws.fresh(np.random.default_rng(0), 4, 3, 10)",),
    "Link": ("glm.links.logistic", "glm.links.poisson", "glm.links.cubic"),
    "TwoPointDesign": ("glm.sign_design(2)",),
    "glm.models.Model": ("NORMAL",),
    "glm.problem.Problem": (
        "glm.Problem(link=glm.links.logistic, w=np.ones(2), covariance=np.eye(2), n=9000, m=90, epsilon=1.0,"
        " delta=0.01)",
    ),
    "glm.recommendation.Recommendation": ("glm.recommend('logistic', n=900, epsilon=1.0, p=2)",),
    "glm.prediction.Prediction": ("glm.predict(glm.build_problem('logistic', n=900, epsilon=1.0, p=2), 'paper')",),
    "Value": ("dpbounds.Value(1.0, kind='exact', source='a test')",),
}
NAMES = {
    **dict.fromkeys(("eta", "alpha", "nu", "failure", "delta", "probability", "tolerance"), ("0.1", "0.01")),
    **dict.fromkeys(("T", "steps", "trials", "nodes", "longest", "block", "bands", "restarts"), ("4", "8")),
    **dict.fromkeys(("p", "d", "dimension", "r"), ("2",)),
    **dict.fromkeys(("n", "max_lag"), ("400", "20")),
    **dict.fromkeys(("population", "generations", "search_trials"), ("4",)),
    **dict.fromkeys(("step", "burn_in", "seed", "parameter_seed", "lag"), ("1",)),
    **dict.fromkeys(("eigenvalues", "singular_values", "initial", "decay"), ("[1.0, 0.5]", "np.array([1.0, 0.5])")),
    **dict.fromkeys(("target", "beta", "mean", "outcome"), ("np.array([1.0, 2.0])",)),
    **dict.fromkeys(("theta", "thetas"), ("np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])",)),
    **dict.fromkeys(("covariance",), ("np.eye(2)",)),
    **dict.fromkeys(("A", "error_covariance", "instrument_covariance"), ("np.eye(3)",)),
    **dict.fromkeys(("nu",), ("0.1",)),
    "mu": ("0.1", "0.5"),
    "q": ("3",),
    "L": ("1.0",),
    "G": ("np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])",),
    "b": ("np.array([1.0, 2.0, 1.0])",),
    **dict.fromkeys(("histogram",), ("np.ones(15)",)),
    **dict.fromkeys(("noisy_hessian", "sketched_gram"), ("np.eye(3)",)),
    "theta_star": ("np.array([1.0, 2.0, 1.0])",),
    "link": ("'logistic'", "glm.links.softplus"),
    "y_squared": ("10.0",),
    "k": ("8", "20"),
    "gamma": ("4.0",),
    "order": ("1.5",),
    "label": ("'name'",),
    "f": ("lambda s: 1 + s",),
    "spectrum": ("lambda omega: 2 - np.cos(omega)",),
    "shape": ("(2,)", "3"),
    "draws": ("np.ones((4, 2))",),
    "orders": ("[2.0, 4.0, 8.0]",),
    "divergences": ("[0.1, 0.2, 0.3]",),
    "asked": ("[4, 8]",),
    "horizons": ("[1, 3]",),
    "curves": ("[[0.1, 0.2], [0.1, 0.3]]",),
    "zeros": ("(0.5,)",),
    "poles": ("(0.2,)",),
    "algorithm": ("runs.mean_estimation",),
    "mechanism": ("'sgd'", "'nu'"),
}
TYPES = {float: ("0.5", "2.0"), int: ("3",), bool: ("True", "False"), str: ("'name'",), complex: ("0.5",)}


def hostile(hint: Any) -> tuple[str, ...]:
    """Expressions that a parameter with this annotation should refuse, or may take."""
    takes_functions = any(typing.get_origin(kind) is Callable for kind in _kinds(hint))
    return tuple(value for value in HOSTILE if not (takes_functions and value in FAILING))


@cache
def namespace() -> dict[str, Any]:
    """What the expressions are evaluated in."""
    names: dict[str, Any] = {}
    exec(PRELUDE, names)
    for package in (names["dpbounds"], names["simulators"]):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(info.name)
    return names


def valid(parameter: str, hint: Any) -> tuple[str, ...]:
    """Expressions that a parameter with this name and annotation takes, as far as we know; maybe none."""
    for kind in _kinds(hint):
        if typing.get_origin(kind) is typing.Literal:
            return tuple(repr(choice) for choice in typing.get_args(kind))
        known = _of_class(kind)
        if known:
            return known
    if parameter in NAMES:
        return NAMES[parameter]
    for kind in _kinds(hint):
        if kind in TYPES:
            return TYPES[kind]
        if "jaxtyping" in str(type(kind)) or "jaxtyping" in str(kind) or "ndarray" in str(kind):
            return ("np.array([1.0, 0.5])",)
    text = str(hint)
    return ("[0.5, 1.0]",) if "Sequence" in text or "Iterable" in text or "tuple" in text else ("0.5", "2")


def _kinds(hint: Any) -> Iterator[Any]:
    """The members of a union, or the annotation itself."""
    if isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union:
        yield from (kind for kind in typing.get_args(hint) if kind is not type(None))
    else:
        yield hint


def _of_class(kind: Any) -> tuple[str, ...]:
    """Instances of a class of ours (or a generator): known ones, or one built from valid arguments."""
    if not inspect.isclass(kind):
        return ()
    place = f"{kind.__module__}.{kind.__qualname__}"
    for ending, expressions in CLASSES.items():
        if f".{place}".endswith(f".{ending}"):
            return expressions
    if kind.__module__.partition(".")[0] not in ("dpbounds", "simulators") or inspect.isabstract(kind):
        return ()
    if getattr(kind, "_is_protocol", False):
        return ()
    arguments = ", ".join(f"{name}={choices[0]}" for name, choices in required(kind).items())
    return (f"{reachable(kind)}({arguments})",)


@cache
def required(function: Any) -> dict[str, tuple[str, ...]]:
    """Valid expressions for the parameters without a default."""
    return {
        name: valid(name, hint)
        for name, (hint, parameter) in parameters(function).items()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    }


@cache
def parameters(function: Any) -> dict[str, tuple[Any, inspect.Parameter]]:
    """Each parameter with its resolved annotation; none where Python cannot tell."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    try:
        hints = typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    except (NameError, TypeError, AttributeError):
        hints = {}
    return {name: (hints.get(name, Any), parameter) for name, parameter in found.items()}


def reachable(thing: Any) -> str:
    """The expression that finds a module-level thing of ours."""
    return f"sys.modules[{thing.__module__!r}].{thing.__qualname__}"
