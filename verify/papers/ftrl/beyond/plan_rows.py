"""Plans on proxy records: what their rows state with clipping counted, and the advice that goes by it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.ftrl.design import learning_rates, plan, verdict
from dpbounds.ftrl.design.clipped import ProxyRecords, forecast
from simulators.ftrl import planned_on_records
from verify.checks import Agreement, Fact, Holds, Within
from verify.papers.ftrl.beyond.exact import OURS
from verify.statements.claims import Claim


def _planned(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds | Within]:
    """Every row of a plan from its setting alone, and at the setting that is best without clipping."""
    X = rng.standard_normal((64, 3)) / np.array([1.0, 1.5, 2.0])
    outcomes = X @ np.array([1.0, -1.0, 0.5]) + 0.3 * rng.standard_t(4, 64)
    records = ProxyRecords.of(X, outcomes)
    clip_norm = 0.5
    common = {"initial": records.start, "sigma_sgd": records.sigma_sgd, "clip_norm": clip_norm, "buffers": 1}
    common |= {"rho": 2.0, "batch_sizes": (4,), "schedules": ("linear",), "amplification": False, "epochs": 2}
    plain = plan(records.eigenvalues, records.rows, **common)
    found = plan(records.eigenvalues, records.rows, records=records, **common)
    theta = np.linalg.lstsq(X, outcomes, rcond=None)[0]
    hessian = X.T @ X / 64
    yield Fact("loss of the start", 0.5 * records.eigenvalues @ records.start, 0.5 * theta @ hessian @ theta, 1e-9)
    lengths = np.linalg.norm(X * (outcomes - X @ theta)[:, None], axis=1)
    yield Fact("share clipped at the minimiser", records.share_clipped(clip_norm), np.mean(lengths > clip_norm), 1e-12)
    yield Fact("mean square gradient", records.sigma_sgd**2 * np.trace(hessian), np.mean(lengths**2), 1e-9)
    for row, before in zip(found.rows, plain.rows, strict=True):
        losses = [
            float(
                forecast(
                    X,
                    outcomes - X @ theta,
                    correlation=each.correlation,
                    schedule=learning_rates(each.setting.schedule, each.setting.eta, each.steps),
                    clip_norm=clip_norm,
                    noise_multiplier=each.noise_multiplier,
                    batch_size=4,
                    initial=-theta,
                ).loss
            )
            for each in (row, before)
        ]
        yield Fact(f"loss with clipping, {row.label}", factor * row.expected, losses[0], 1e-9)
        yield Within(f"over that at the setting without clipping, {row.label}", losses[0] / losses[1], most=1 + 1e-9)
        run = planned_on_records(found, row.kind, records).settings
        made = [run.noise_multiplier, run.clip_norm, run.batch_size, *run.schedule]
        rates = learning_rates(row.setting.schedule, row.setting.eta, row.steps)
        yield Fact(f"run of it, {row.label}", made, [row.noise_multiplier, clip_norm, 4, *rates], 1e-12)
        yield Fact(f"gain, {row.label}", row.gain * row.expected, found.rows[0].expected, 1e-12)
    ratio = min(row.expected for row in found.rows[1:]) / found.rows[0].expected
    yield Fact("gain of the plan", found.gain, 1 / ratio, 1e-12)
    yield Holds("what is said of it", found.verdict == verdict(ratio, forecast=True))
    words = [verdict(each, forecast=True) for each in (0.9, 0.96, 1.0, 1.03, 1.2)]
    yield Holds("what is said of ratios", words == ["take", "probably", "level", "probably", "take"])


PLANS = Claim(
    id="ftrl/beyond-plan-rows",
    where=OURS,
    kind="algorithm",
    statement=(
        "On records, each row of a plan has the forecast with clipping at its own learning rate, which is no worse "
        "than at the one that is best without clipping, and the plan's advice goes by these losses."
    ),
    setting="64 records, $d = 3$, two passes.",
    checks=(Agreement(facts=_planned, impostors={"1 % off": {"facts": {"factor": 1.01}}}),),
)
