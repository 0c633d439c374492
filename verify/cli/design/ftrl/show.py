"""Tables of `dpbounds design ftrl`, and what their columns are."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from verify.cli.console import print_json, print_table
from verify.cli.solve.ftrl.show import as_shown, print_sentences

if TYPE_CHECKING:
    from dpbounds.ftrl.design import Design, Plan

Row = Mapping[str, Any]

LOSS = ("bias", "sgd_noise", "privacy_noise", "total")
SIMULATED = ("simulated", "low", "high")
RUN = ("mechanism", *LOSS, *SIMULATED, "bound", "ratio", "noise_ratio", "gain", "gain_tuned", "seconds")
CLIPPED = ("clipped_total", "share_clipped", "excursion")
PLAN = (
    "mechanism",
    "batch_size",
    "steps",
    "schedule",
    "eta",
    "clip_norm",
    *LOSS,
    *SIMULATED,
    *CLIPPED,
    "population",
    "bound",
    "ratio",
    "gain",
)
DIGITS = 4


def show_run(design: Design, schedule: str, rows: Sequence[Row], arguments: Namespace) -> None:
    """The table of a given run, or its JSON."""
    if arguments.json:
        print_json(rows)
        return
    quiet = {name for name in ("bias", "sgd_noise") if all(row[name] == 0 for row in rows)}
    if len(quiet) == 2:
        quiet |= {"privacy_noise", "noise_ratio"}
    _table(rows, [name for name in RUN if name not in quiet])
    objective = design.objective
    settings = f"T = {objective.steps}, d = {len(objective.eigenvalues)}, eta = {objective.learning_rates[0]:.6g}, "
    settings += f"schedule = {schedule}, batch_size = {objective.examples}, clip_norm = {design.clip_norm:g}, "
    gradients = "rows with exact gradients" if objective.noiseless else f"sigma_sgd = {objective.sigma_sgd:g}"
    settings += f"{gradients}, momentum = {objective.momentum:g}."
    said = [settings, *_losses(), *_run_columns(design, rows), *design.sentences, *_simulation(arguments)]
    print_sentences([*said, design.budget.sentence(design.participation.times)])


def show_plan(found: Plan, rows: Sequence[Row], arguments: Namespace, seconds: float) -> None:
    """The table of a plan, or its JSON."""
    if arguments.json:
        print_json(rows)
        return
    alike = {row["clip_norm"] for row in rows} == {arguments.clip_norm}
    _table(rows, [name for name in PLAN if not (alike and name == "clip_norm")])
    said = list(found.sentences)
    said.append("Every row has the eta, schedule and batch size that are best for it of those tried.")
    if found.momentum:
        said.append(
            "total = bias + sgd_noise + privacy_noise: the weighted F - F*, F with 1/2, where nothing is clipped."
        )
        said.append("gain: clipped_total of independent noise over the row's.")
    else:
        said += _losses()
        said.append(
            "bound: the least total of any noise at the row's setting; ratio: total over it. gain: total of "
            "independent noise over the row's."
        )
    if any(row["population"] != row["total"] for row in rows):
        said.append(
            "population: the loss on fresh records; several passes and Poisson sampling learn the records themselves, "
            "one pass in a fixed order does not."
        )
    if found.rows[0].clipped is not None:
        said.append(
            "clipped_total: the loss with clipping, forecast on the records, which gain and advice go by; "
            "share_clipped: of all gradients of the run; excursion: the largest loss by privacy noise during it."
        )
    if arguments.no_amplification:
        said.append("Independent noise with Poisson amplification was left out.")
    said += [*_simulation(arguments), found.budget.sentence(found.training.epochs), f"{seconds:.1f} seconds."]
    print_sentences(said)


def _table(rows: Sequence[Row], columns: Sequence[str]) -> None:
    shown = [as_shown(dict(row)) for row in rows]
    used = [name for name in columns if any(row.get(name) is not None for row in shown)]
    print_table([{name: _rounded(row.get(name)) for name in used} for row in shown], used)
    print()


def _rounded(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _losses() -> list[str]:
    return [
        "total = bias + sgd_noise + privacy_noise: the weighted F - F*, F with 1/2, exact for Gaussian inputs while no "
        "gradient is clipped."
    ]


def _run_columns(design: Design, rows: Sequence[Row]) -> list[str]:
    how = "proved by ball arithmetic" if design.bound.value.certified else "computed in floating point"
    noise = "" if design.objective.bias == 0 else "; noise_ratio: privacy noise over its least"
    said = [
        f"bound: the least total of any noise, {how} in {rows[0]['bound_seconds']:.2g} seconds; ratio: total "
        f"over it{noise}. gain: total of independent noise at the same eta over the row's."
    ]
    if any(row["gain_tuned"] is not None for row in rows):
        said.append(
            "gain_tuned: the same for independent noise with eta, schedule and batch size of its own, as many records."
        )
    return said


def _simulation(arguments: Namespace) -> list[str]:
    if arguments.simulate is None:
        return []
    how = "without clipping" if arguments.features is None else "on the records, every gradient clipped"
    return [
        f"simulated: mean of {arguments.simulate} runs {how} (seed {arguments.seed}), with a 95 % interval "
        "from low to high."
    ]
