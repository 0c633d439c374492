"""Arguments of `dpbounds solve iv --confidence`."""

from __future__ import annotations

import argparse

# The keys of `dpbounds.iv.confidence.plan`, which is too slow to load for every `--help`; a test holds them equal.
DESIGNS = ("u", "h", "s")
NOISES = ("numpy", "opendp")
CLAMPINGS = ("natural", "stretch")
LEVEL = 0.95

# Options of the set alone, and options of Algorithm 1 alone.
SET_OPTIONS = ("bounds", "controls", "design", "level", "honest", "certify", "clamping", "public", "noise", "mu")
SET_OPTIONS += ("grid", "instrument_bound", "instrument_means", "deviation")
SET_OPTIONS += ("independent", "heterogeneity", "regressor_clamped")
ALGORITHM_OPTIONS = ("p", "q", "T", "rho1", "rho2", "calibration", "scale", "theta", "singular_values")
ALGORITHM_OPTIONS += ("instrument_covariance", "eta", "alpha", "gamma1", "gamma2", "constant", "simulate")


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Every one of them is None or False unless it is given."""
    group.add_argument(
        "--confidence",
        action="store_true",
        help="in place of Algorithm 1: one Gaussian release of moments, and the set of coefficients that an "
        "Anderson-Rubin test does not reject, which knows the noise; with --csv a real release unless --seed or "
        "--public is given, without it (--n) what to expect",
    )
    group.add_argument(
        "--bounds",
        nargs="+",
        metavar="COLUMN=LOW:HIGH",
        help="public ranges of outcome and regressors, to which records are clamped; never read from the data. Of "
        "instruments too (default: 0:1)",
    )
    group.add_argument(
        "--controls",
        nargs="+",
        metavar="COLUMN",
        help="columns of few values, public for every record: means within their cells are taken out, privately",
    )
    group.add_argument("--design", choices=DESIGNS, help=_DESIGN_HELP)
    group.add_argument("--level", type=float, help=f"of the set (default: {LEVEL:g})")
    group.add_argument("--mu", type=float, help="in place of --epsilon and --delta: the budget as mu-GDP")
    group.add_argument(
        "--instrument-bound",
        type=float,
        metavar="B",
        help="records whose instruments, each scaled to [-1, 1], are longer than B weigh less; a public guess, "
        "harmless for any value (default: the square root of their number, which changes none)",
    )
    group.add_argument(
        "--instrument-means",
        nargs="+",
        metavar="COLUMN=MEAN",
        help="public means of randomised instruments: no budget goes into estimating them",
    )
    group.add_argument("--honest", action="store_true", help="cover at every n, by a bound on the normal approximation")
    group.add_argument("--certify", action="store_true", help="ends of the set from exact rational arithmetic")
    group.add_argument(
        "--clamping",
        choices=CLAMPINGS,
        help="natural: bounds hold for every record (others are refused); stretch: the outcome may leave its range, "
        "its effect is one for all, and the instrument, of two values, is independent of the errors and of the "
        "first stage, which has one sign: residuals are clipped and the set is stretched by what that hides (default: "
        "natural, stretch with --independent)",
    )
    group.add_argument(
        "--independent",
        action="store_true",
        help="one instrument, independent of the errors and of the first stage, as by randomisation: --clamping "
        "stretch where nothing speaks against it",
    )
    group.add_argument(
        "--heterogeneity",
        type=float,
        metavar="H",
        help="with --clamping stretch: the largest effect of the instrument on a regressor is at most H times the mean "
        "one; 1 over the share of compliers for a 0/1 regressor (default: 1, one effect for all)",
    )
    group.add_argument(
        "--regressor-clamped",
        action="store_true",
        help="with --clamping stretch: the regressor may leave its range too",
    )
    group.add_argument("--noise", choices=NOISES, help="numpy: floats; opendp: OpenDP's measurement (default: numpy)")
    group.add_argument(
        "--public",
        action="store_true",
        help="the data are public, or a stand-in for yours: no budget is spent, and what is not private is shown "
        "beside; seed 0 unless given",
    )
    group.add_argument(
        "--grid", metavar="LOW:HIGH[:POINTS]", help="design s: public grid of coefficients (default: 512 points)"
    )
    group.add_argument(
        "--deviation", type=float, help="without --csv: of the outcome's error (default: a quarter of its range)"
    )


_DESIGN_HELP = (
    "u: first and second moments, robust to heteroskedasticity, for few instruments; h: blocks Z'Z, Z'V, V'V, for many "
    "instruments and errors of one variance; s: signs, for one randomised 0/1 instrument, exact at every n (default: u)"
)


def is_stated(value: object) -> bool:
    """Whether an option's value is not the one it has when left out."""
    return value is not None and value is not False
