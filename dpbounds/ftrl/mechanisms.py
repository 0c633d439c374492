"""The mechanisms of DP-FTRL by name: the correlation behind a name, and the names that a correlation may go by.

>>> search_of("best-nu"), search_of("nu", damping=0.1), names_of(named_correlation("sgd", 0.01))[0]
('nu', None, 'sgd')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, within
from dpbounds.ftrl import correlations
from dpbounds.ftrl.correlations import DampedAntiPGD, FiniteImpulse, HalfPowers, NuCorrelation, ToeplitzCorrelation

Mechanism = Literal[
    "sgd", "nu", "best-nu", "optimal", "optimal-counting", "anti-pgd", "damped-anti-pgd", "coefficients"
]
# What a mechanism looks for: the best damping, or the best of all correlations.
Search = Literal["nu", "correlation"]


def search_of(mechanism: Mechanism, damping: float | None = None) -> Search | None:
    """What has to be searched for to know the correlation: `nu` without a damping is the best one."""
    if mechanism == "best-nu" or (mechanism == "nu" and damping is None):
        return "nu"
    return "correlation" if mechanism == "optimal" else None


@typed
def named_correlation(
    mechanism: Mechanism, decay: float, *, damping: float | None = None, weights: Sequence[float] = ()
) -> ToeplitzCorrelation:
    """The correlation of a mechanism that needs no search.

    `damping` is nu, by default `decay`, the smallest eta lambda_j (ftrl Section 2.2); `weights` are beta_0, beta_1, ...
    of `coefficients`. Raises `DomainError` for a damping outside (0, 1], and for a mechanism that is searched for.
    """
    choice("mechanism", mechanism, get_args(Mechanism))
    makers = {
        "sgd": correlations.independent,
        "nu": lambda: correlations.nu(_damping(damping, decay)),
        "optimal-counting": correlations.optimal_counting,
        "anti-pgd": correlations.anti_pgd,
        "damped-anti-pgd": lambda: correlations.damped_anti_pgd(_damping(damping, decay)),
        "coefficients": lambda: correlations.from_coefficients(weights),
    }
    if mechanism not in makers:
        raise DomainError("mechanism", mechanism, f"one of {', '.join(makers)}", "the others are searched for")
    return makers[mechanism]()


def names_of(correlation: ToeplitzCorrelation) -> tuple[str, ...]:
    """What this noise is, and then the mechanisms of which it may be: a search may end at simpler noise."""
    if isinstance(correlation, FiniteImpulse):
        white = not any(correlation.beta[1:])
        return ("sgd", "nu", "best-nu", "optimal", "coefficients") if white else ("coefficients",)
    if isinstance(correlation, NuCorrelation):
        return ("nu", "best-nu", "optimal")
    if isinstance(correlation, DampedAntiPGD):
        return ("damped-anti-pgd",)
    return ("half-powers", "optimal") if isinstance(correlation, HalfPowers) else ()


def _damping(given: float | None, decay: float) -> float:
    return within("nu", decay if given is None else given, "(0, 1]", "choose it with --nu")
