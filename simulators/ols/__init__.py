"""Private least squares: iterative Hessian mixing, linear mixing, AdaSSP, gradient descent, and data (paper `ols`)."""

from simulators.ols.adassp import AdaSSP, adassp, released_ridge, symmetric_noise
from simulators.ols.averaged_descent import AveragedDescent, averaged_descent
from simulators.ols.clipping import ClippedSums
from simulators.ols.compared import Zero, experiment_of, zero
from simulators.ols.datasets import BUNDLED, DataSet, bundled, has_bundled, load, prepared
from simulators.ols.estimator import LinearRegression
from simulators.ols.families import family, perceptron
from simulators.ols.gradient_descent import GradientDescent, gradient_descent
from simulators.ols.hessian_mixing import HessianMixing, hessian_mixing, hessian_step, mixing_noise
from simulators.ols.linear_mixing import (
    LinearMixing,
    SketchAndSolve,
    dynamic_mixing,
    linear_mixing,
    sketch_and_solve,
)
from simulators.ols.newton import NewtonDraws, newton_runs, recentred_newton
from simulators.ols.records import LeastSquares
from simulators.ols.rehearsals import assumed_records, rehearsals, scaled_records
from simulators.ols.sketches import bartlett, explicit_gram, inverse_action, wishart_solve
from simulators.ols.tail_averaging import TailDraws, tail_averaged, tail_release, tail_runs
from simulators.tables import Table, read_table

__all__ = [
    "BUNDLED",
    "AdaSSP",
    "AveragedDescent",
    "ClippedSums",
    "DataSet",
    "GradientDescent",
    "HessianMixing",
    "LeastSquares",
    "LinearMixing",
    "LinearRegression",
    "NewtonDraws",
    "SketchAndSolve",
    "Table",
    "TailDraws",
    "Zero",
    "adassp",
    "assumed_records",
    "averaged_descent",
    "bartlett",
    "bundled",
    "dynamic_mixing",
    "experiment_of",
    "explicit_gram",
    "family",
    "gradient_descent",
    "has_bundled",
    "hessian_mixing",
    "hessian_step",
    "inverse_action",
    "linear_mixing",
    "load",
    "mixing_noise",
    "newton_runs",
    "perceptron",
    "prepared",
    "read_table",
    "recentred_newton",
    "rehearsals",
    "released_ridge",
    "scaled_records",
    "sketch_and_solve",
    "symmetric_noise",
    "tail_averaged",
    "tail_release",
    "tail_runs",
    "wishart_solve",
    "zero",
]
