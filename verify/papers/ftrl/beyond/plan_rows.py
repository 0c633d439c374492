"""Plans: what their rows state with clipping counted on proxy records, and of the loss on fresh records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.ftrl.design import Objective, learning_rates, plan, sensitivity, verdict
from dpbounds.ftrl.design.clipped import ProxyRecords, forecast
from dpbounds.ftrl.design.tuning import Setting, Training
from simulators.ftrl import planned_on_records
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.ftrl.beyond.exact import OURS
from verify.papers.ftrl.beyond.plan_searches import searches
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
    found = plan(records.eigenvalues, records.rows, records=records, clip_norms=(1.0, 0.25), **common)
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
                    clip_norm=each.clip_norm,
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
        yield Fact(f"run of it, {row.label}", made, [row.noise_multiplier, row.clip_norm, 4, *rates], 1e-12)
        decoder = row.correlation.matrix(row.steps)
        power = np.sum(decoder * (found.training.objective(row.setting).gram() @ decoder))
        noise = (row.noise_multiplier * row.clip_norm / 4) ** 2 * float(power)
        yield Fact(f"privacy noise while nothing is clipped, {row.label}", row.loss.privacy_noise, noise, 1e-9)
        yield Holds(f"clip norm of {row.label}", row.clip_norm in (0.25, clip_norm, 1.0))
        yield Fact(f"gain, {row.label}", row.gain * row.expected, found.rows[0].expected, 1e-12)
        learned = row.expected + found.training.floor(row.setting)
        yield Fact(f"loss on fresh records, {row.label}", factor * row.population, learned, 1e-12)
    ratio = min(row.expected for row in found.rows[1:]) / found.rows[0].expected
    yield Fact("gain of the plan", found.gain, 1 / ratio, 1e-12)
    yield Holds("what is said of it", found.verdict == verdict(ratio, forecast=True))
    words = [verdict(each, forecast=True) for each in (0.9, 0.96, 1.0, 1.03, 1.2)]
    yield Holds("what is said of ratios", words == ["take", "probably", "level", "probably", "take"])


def _with_momentum(rng: np.random.Generator, told: float = 1.0) -> Iterator[Fact | Holds]:
    """Every row from its setting alone; what n records leave unknown from what n of them are fitted to, by matrices."""
    X = rng.standard_normal((64, 3)) / np.array([1.0, 1.5, 2.0])
    outcomes = X @ np.array([1.0, -1.0, 0.5]) + 0.3 * rng.standard_t(4, 64)
    records = ProxyRecords.of(X, outcomes)
    common = {"initial": records.start, "sigma_sgd": records.sigma_sgd, "clip_norm": 0.5, "buffers": 1, "rho": 2.0}
    common |= {"batch_sizes": (4, 8), "schedules": ("linear",), "amplification": False, "epochs": 2}
    found = plan(records.eigenvalues, records.rows, records=records, momentum=0.8, **common)
    for row in found.rows:
        m, rates = row.setting.batch_size, learning_rates("linear", row.setting.eta, row.steps)
        given = {"correlation": row.correlation, "schedule": rates, "batch_size": m, "initial": records.initial}
        noise = row.noise_multiplier * row.clip_norm
        one, free = (
            forecast(
                X, records.residuals, clip_norm=c, noise_multiplier=noise / c, momentum=0.8 * told, **given
            )
            for c in (row.clip_norm, 1e9)
        )  # fmt: skip
        yield Fact(f"loss with clipping, {row.label}", row.expected, float(one.loss), 1e-9)
        parts = [row.loss.bias, row.loss.sgd_noise, row.loss.privacy_noise]
        yield Fact(f"loss while nothing is clipped, {row.label}", parts, [free.bias, free.sampling, free.privacy], 1e-7)
        run = planned_on_records(found, row.kind, records).settings
        made = [run.noise_multiplier, run.batch_size, run.momentum, *run.schedule]
        yield Fact(f"run of it, {row.label}", made, [row.noise_multiplier, m, 0.8 * told, *rates], 1e-12)
        held = float(sensitivity(row.correlation, row.steps, found.training.participation(m))) / 2.0
        yield Fact(f"noise for rho = 2, {row.label}", row.noise_multiplier, held, 1e-12)
        left = np.array([_left(rates * each, 0.8 * told) for each in records.eigenvalues])
        learned = records.sigma_sgd**2 / 128 * np.sum((1 - left) ** 2)
        yield Fact(f"loss on fresh records, {row.label}", row.population, float(one.loss) + learned, 1e-9)
        yield Holds(f"no bound, {row.label}", row.bound is None)
    yield Holds("the design is not worse", found.rows[-1].expected <= found.rows[-2].expected)


def _left(steps: np.ndarray, momentum: float) -> float:
    """Of a start in units of itself, as a product of matrices on (theta, eta v): the rates fall from step to step."""
    state, last = np.array([1.0, 0.0]), steps[0]
    for step in steps:
        velocity = momentum * step / last
        state = np.array([[1.0 - step, -velocity], [step, velocity]]) @ state
        last = step
    return float(state[0])


PLANS = Claim(
    id="ftrl/beyond-plan-rows",
    where=f"{OURS}: rows of a plan with clipping",
    kind="algorithm",
    statement=(
        "On records, each row of a plan has the forecast with clipping at its own learning rate and clip norm, which "
        "is no worse than at those that are best without clipping, and the plan's advice goes by these losses.",
        "With momentum, each row has the forecasts of heavy ball, with clipping and without, and no bound.",
        (
            "Noise and learning rate are tuned in turn while that gains, and with clipping each learning rate as long "
            "as a step by $sqrt(2)$ helps, at each clip norm, from the two best places on, and a row is made anew "
            "where something else is then best for it."
        ),
    ),
    setting="64 records, $d = 3$, two passes; momentum 0.8.",
    checks=(
        Agreement(decides="a", facts=_planned, impostors={"1 % off": {"facts": {"factor": 1.01}}}),
        Agreement(decides="b", facts=_with_momentum, impostors={"less momentum": {"facts": {"told": 0.99}}}),
        Agreement(decides="c", facts=searches, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)


# --- fresh records ---


def _by_residuals(
    eigenvalues: np.ndarray, start: np.ndarray, sigma: float, batches: np.ndarray, rates: np.ndarray, omega: np.ndarray
) -> float:
    """Expected loss on fresh records, (T, m, d) the inputs of each step; iterates are linear in start and residuals.

    Batches that are the same array rows return with the same residuals: column `1 + i` is unit residual `i` alone.
    """
    steps, m, d = batches.shape
    known = {tuple(row): None for row in batches.reshape(-1, d)}
    places = {row: number for number, row in enumerate(known, 1)}
    theta = np.zeros((d, 1 + len(places)))
    theta[:, 0] = start
    loss = 0.0
    for t in range(steps):
        residuals = np.zeros((m, theta.shape[1]))
        residuals[np.arange(m), [places[tuple(row)] for row in batches[t]]] = 1.0
        theta = theta - rates[t] * batches[t].T @ (batches[t] @ theta - residuals) / m
        squared = 0.5 * eigenvalues @ theta**2
        loss += omega[t] * (squared[0] + sigma**2 * squared[1:].sum())
    return float(loss)


def _learned(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Passes over batches of 6 records in a fixed order, and over all 24 at once."""
    eigenvalues, start, sigma, n = np.array([1.0, 0.4, 0.05]), np.array([0.6, 0.3, 0.2]), 0.7, 24
    drawn = [np.linalg.qr(rng.standard_normal((6, 3)))[0] * np.sqrt(6 * eigenvalues) for _ in range(4)]
    for schedule, weights, m, epochs in (
        ("linear", "final", 6, 5),
        ("constant", "mean", 6, 3),
        ("linear", "mean", 24, 9),
    ):
        training = Training(
            eigenvalues=eigenvalues, n=n, rho=1.0, initial=start**2, sigma_sgd=sigma, epochs=epochs, weights=weights
        )
        setting = Setting(batch_size=m, schedule=schedule, eta=1.4)
        steps = training.steps(m)
        inputs = np.array(drawn) if m == 6 else np.concatenate(drawn)[None]
        batches = np.concatenate([inputs] * epochs)
        rates, omega = learning_rates(schedule, 1.4, steps), training.objective(setting).omega
        loss = _by_residuals(eigenvalues, start, sigma, batches, rates, omega)
        run = Objective(eigenvalues, steps, schedule=rates, weights=weights, initial=start**2)
        label = f"{schedule}, {weights}, batches of {m}"
        yield Fact(label, run.bias + factor * training.repeated_noise(setting), loss, 1e-9)
        if m == n:
            yield Fact(f"{label}, the floor", run.bias + factor * training.floor(setting), loss, 1e-9)


def _rows(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """One pass in fixed order sees fresh records; Poisson sampling and a second pass do not."""
    del rng
    settings = {"initial": 1.0, "epsilon": 2.0, "sigma_sgd": 0.5, "batch_sizes": (8,), "buffers": 1}
    once, twice = (plan(np.array([1.0, 0.3]), 128, epochs=epochs, **settings) for epochs in (1, 2))
    for found in (once, twice):
        training, expected = found.training, []
        for row in found.rows:
            noise = row.loss.sgd_noise
            if row.kind == "amplified":
                noise = (1 - 8 / 128) * noise + training.floor(row.setting)
            elif training.epochs > 1:
                noise = training.repeated_noise(row.setting)
            expected.append(row.loss.bias + noise + row.loss.privacy_noise)
        yield Fact(f"passes: {training.epochs}", [row.population for row in found.rows], expected, 1e-12)
        yield Holds("amplified noise is among the rows", any(row.kind == "amplified" for row in found.rows))


POPULATION = Claim(
    id="ftrl/beyond-plan-population",
    where=f"{OURS}: loss of a plan on fresh records",
    kind="identity",
    statement=(
        (
            "Passes in a fixed order over batches with second moments $H$ have on fresh records the bias and "
            "$(sigma^2 \\/ 2 m) sum_t omega_t sum_j lambda_j^2 sum_b D_(t b j)^2$, $D_(t b j)$ what the steps on batch "
            "$b$ have moved;"
        ),
        (
            "for one batch this is the floor $(sigma^2 \\/ 2 n) sum_t omega_t sum_j (1 - Phi_(t j))^2$, $Phi_(t j)$ "
            "what is left of the start;"
        ),
        "a plan adds the first to rows of several passes, the floor to amplified noise, neither to one pass.",
    ),
    setting="24 records, up to 20 steps, each residual by itself; 128 records, one pass and two.",
    checks=(
        Agreement(decides="ab", facts=_learned, impostors={"1e-3 off": {"facts": {"factor": 1.001}}}),
        Agreement(decides="c", facts=_rows, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
    ),
)


# --- how many passes ---


def _passes(rng: np.random.Generator, factor: float = 1.0, share: float = 0.02) -> Iterator[Fact | Holds]:
    """Plans for each number of passes alone, and the one that chooses among them."""
    del rng
    eigenvalues, settings = np.array([1.0, 0.3]), {"initial": 1.0, "rho": 0.5, "sigma_sgd": 0.5, "buffers": 1}
    settings |= {"batch_sizes": (16,), "schedules": ("linear",), "amplification": False}
    alone = {epochs: plan(eigenvalues, 128, epochs=epochs, **settings) for epochs in (1, 2, 4)}
    for work, allowed in ((256.0, (1, 2)), (1e9, (1, 2, 4))):
        found = plan(eigenvalues, 128, epochs=(4, 1, 2), work=work, **settings)
        label = f"at most {work:g} gradients"
        numbers = [row.gradients for row in found.passes]
        yield Fact(f"passes, {label}", numbers, [128 * epochs for epochs in allowed], 0)
        least = {}
        for row in found.passes:
            rows = [one for one in alone[row.epochs].rows if one.kind != "designed"]
            least[row.epochs] = min(one.population for one in rows)
            losses = [factor * one.population for one in row.rows]
            yield Fact(f"{row.epochs} of them, {label}", losses, [one.population for one in rows], 1e-9)
        taken = min(epochs for epochs in allowed if least[epochs] <= (1 + share) * min(least.values()))
        yield Fact(f"taken, {label}", found.training.epochs, taken, 0)
        yield Fact(f"the plan then, {label}", found.best.loss.total, alone[taken].best.loss.total, 1e-9)
        yield Holds(f"more than the fewest, {label}", taken > allowed[0])


PASSES = Claim(
    id="ftrl/beyond-plan-passes",
    where=f"{OURS}: numbers of passes of a plan",
    kind="algorithm",
    statement=(
        "A plan with several numbers of passes takes the fewest, of those that the work allows, whose loss on fresh "
        "records is within 2 % of the least, and then is the plan for that number."
    ),
    setting="128 records, $d = 2$, 1 to 4 passes.",
    checks=(
        Agreement(
            facts=_passes,
            impostors={"1e-6 off": {"facts": {"factor": 1 + 1e-6}}, "a half": {"facts": {"share": 0.5}}},
        ),
    ),
)
