"""The statistic over the coefficient with its critical value; without noise beside it, where the data are public."""

from __future__ import annotations

from dpbounds.iv.confidence import ConfidenceAnswer, ReleasePlan
from dpbounds.iv.confidence.answers import StatisticCurve
from reports.results import Picture, Series

LABELS = {"u": "Anderson-Rubin statistic", "h": "Anderson-Rubin statistic", "s": "size of the sign curve"}


def picture(answer: ConfidenceAnswer) -> Picture:
    """Rejected is where the statistic is above the critical value."""
    plan, private = answer.plan, answer.curve()
    series = [_series("private", plan, private)]
    x, y = tuple(private.coefficients.tolist()), tuple(private.critical.tolist())
    series.append(Series(curve=f"critical value, level {plan.level:g}", role="exact", x=x, y=y))
    if plan.public:
        series.append(_series("without privacy", plan, answer.curve(noisy=False)))
    return Picture(x=f"coefficient of {plan.regressor}", y=LABELS[plan.design], log=(), series=tuple(series))


def _series(name: str, plan: ReleasePlan, curve: StatisticCurve) -> Series:
    """As far as it is not much above its critical value; a sign curve on its whole grid."""
    shown = curve if plan.design == "s" else curve.near()
    return Series(curve=name, role="exact", x=tuple(shown.coefficients.tolist()), y=tuple(shown.statistic.tolist()))
