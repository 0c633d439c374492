"""Real data: 2SLS against linearmodels, the census extract from a user's file, and files that are not what they should
be.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from linearmodels.iv import IV2SLS

from dpbounds import DomainError
from simulators.engine import Experiment
from simulators.iv import FixedData, Settings, angrist_evans, card, synthetic_model, two_stage_descent

HEADER = "rownames,morekids,gender1,gender2,age,work"
NAME = "angrist-evans-1980-sample.csv"


def lines(n: int, seed: int = 0) -> list[str]:
    """Records with a first stage."""
    generator = np.random.default_rng(seed)
    sexes, answers = np.array(["male", "female"]), np.array(["no", "yes"])
    first, second = generator.integers(0, 2, (2, n))
    more = (generator.random(n) < 0.3 + 0.3 * (first == second)).astype(int)
    work = generator.integers(0, 53, n)
    rows = zip(answers[more], sexes[first], sexes[second], work, strict=True)
    return [f"{k},{m},{a},{b},30,{w}" for k, (m, a, b, w) in enumerate(rows)]


def folder(tmp_path: Path, *rows: str, header: str = HEADER, name: str = NAME) -> Path:
    (tmp_path / name).write_text("\n".join([header, *rows]) + "\n")
    return tmp_path


def reference(problem: FixedData) -> np.ndarray:
    """2SLS by linearmodels: no exogenous regressors."""
    return np.asarray(IV2SLS(problem.outcome, None, problem.regressors, problem.instruments).fit().params)


# --- Card ---


@pytest.mark.parametrize("centre", [False, True])
def test_card_is_the_paper_s_data_set(centre):
    problem = card(centre=centre)
    assert problem.n == 2191
    assert problem.dimensions == (4, 1)
    assert problem.instruments.mean(axis=0) == pytest.approx(np.zeros(4), abs=1e-12)
    assert problem.instruments.var(axis=0) == pytest.approx(np.ones(4))
    assert problem.beta is None
    assert abs(problem.regressors.mean()) == pytest.approx(0.0 if centre else 13.642, abs=1e-3)
    assert problem.outcome.std() == pytest.approx(0.4393, abs=1e-4)
    assert problem.sample.moments.beta_hat[0] == pytest.approx([0.0744], abs=1e-4)


@pytest.mark.parametrize(
    "problem",
    [
        card(),
        card(centre=True),
        synthetic_model(n=500, p=3, q=6, r=2, parameter_seed=0).fixed(data_seed=1),
        synthetic_model(n=60, p=5, q=5, r=5, parameter_seed=2).fixed(data_seed=1),
    ],
    ids=["card", "card centred", "over-identified", "just identified"],
)
def test_2sls_agrees_with_linearmodels(problem):
    found, expected = problem.sample.moments.beta_hat[0], reference(problem)
    assert np.abs(found - expected).max() <= 1e-10 * np.linalg.norm(expected)


def test_2sgd_on_card_ends_at_the_estimate_of_linearmodels():
    problem = card()
    hessian = problem.sample.moments.theta_hat[0].T @ problem.sample.moments.G[0]
    settings = Settings(
        steps=200, eta=1.0 / np.linalg.eigvalsh(problem.sample.moments.A[0])[-1], alpha=0.5 / hessian.item()
    )
    run = Experiment(algorithm=two_stage_descent, problem=problem, settings=settings, block_trials=1).run_block(
        0, seed=0
    )
    assert run["beta"][0] == pytest.approx(reference(problem), rel=1e-10)


# --- Angrist and Evans ---


@pytest.mark.parametrize("packed", [False, True])
def test_the_census_extract_is_read_and_centred(tmp_path, packed):
    rows = lines(200)
    if packed:
        (tmp_path / f"{NAME}.gz").write_bytes(gzip.compress("\n".join([HEADER, *rows]).encode()))
    else:
        folder(tmp_path, *rows)
    problem = angrist_evans(tmp_path, n=None)
    cells = np.array([row.split(",") for row in rows])
    z, x, y = cells[:, 2] == cells[:, 3], cells[:, 1] == "yes", cells[:, 5].astype(float)
    assert problem.n == 200
    for found, raw in zip((problem.instruments, problem.regressors, problem.outcome), (z, x, y), strict=True):
        assert found.ravel() == pytest.approx(raw - raw.mean())
    wald = (y[z].mean() - y[~z].mean()) / (x[z].mean() - x[~z].mean())
    assert problem.sample.moments.beta_hat[0, 0] == pytest.approx(wald)
    assert problem.sample.moments.beta_hat[0] == pytest.approx(reference(problem), rel=1e-10)


def test_a_subset_is_drawn_by_its_seed(tmp_path):
    data_dir = folder(tmp_path, *lines(300))
    first, again, other = (angrist_evans(data_dir, n=100, seed=seed) for seed in (1, 1, 2))
    assert first.n == 100
    assert first.digest == again.digest != other.digest
    assert abs(first.outcome.mean()) < 1e-12
    with pytest.raises(DomainError, match=r"^n = 301 .*at most 300"):
        angrist_evans(data_dir, n=301)
    with pytest.raises(DomainError, match=r"^n = 8065 .*None takes all"):
        angrist_evans(data_dir)


def test_a_byte_order_mark_and_blanks_around_values_do_no_harm(tmp_path):
    path = tmp_path / NAME
    path.write_text(
        "\n".join(
            ["\ufeffmorekids,gender1,gender2,work", *(" yes ,male,male, 3", "no,male,female,4", "no,male,male,5")]
        )
    )
    assert angrist_evans(tmp_path, n=None).n == 3


GOOD = lines(5)


@pytest.mark.parametrize(
    ("rows", "header", "message"),
    [
        (
            GOOD,
            "rownames,morekids,gender1,sex2,age,work",
            "^column = gender2 .*a column of [^ ]*: rownames, morekids, gender1, sex2, age, work",
        ),
        ([], HEADER, "^file = .*records"),
        ([*GOOD, "6,maybe,male,male,30,4"], HEADER, r"line 7, column morekids = maybe .*yes or no"),
        ([*GOOD, "6,yes,boy,male,30,4"], HEADER, r"line 7, column gender1 = boy .*male or female"),
        ([*GOOD, "6,yes,male,male,30,often"], HEADER, r"line 7, column work = often .*finite number"),
        ([*GOOD, "6,yes,male,male,30,inf"], HEADER, r"line 7, column work = inf .*finite number"),
        ([*GOOD, "6,yes,male,male,30,"], HEADER, r"line 7, column work = nothing .*drop the record"),
        ([*GOOD, "6,NA,male,male,30,4"], HEADER, r"line 7, column morekids = NA .*drop the record"),
        ([*GOOD, "6,yes,male"], HEADER, "line 7 = 3 cells .* 6 cells"),
        (["1,yes,male,male,30,4", "2,no,male,male,30,5"], HEADER, "Z'Z/n"),
    ],
)
def test_other_files_are_refused_in_one_clear_line(tmp_path, rows, header, message):
    with pytest.raises(DomainError, match=message) as caught:
        angrist_evans(folder(tmp_path, *rows, header=header), n=None)
    assert "\n" not in str(caught.value)


def test_a_missing_or_damaged_file_is_refused(tmp_path):
    with pytest.raises(DomainError, match=r"^data_dir = .*angrist-evans-1980-sample.csv.gz or .*--data-dir"):
        angrist_evans(tmp_path)
    with pytest.raises(DomainError, match=r"^data_dir = "):
        angrist_evans(tmp_path / "nowhere")
    whole = gzip.compress("\n".join([HEADER, *lines(2000)]).encode())
    for damaged in (whole[: len(whole) // 2], b"no gzip", whole[:40] + bytes(40) + whole[80:]):
        (tmp_path / f"{NAME}.gz").write_bytes(damaged)
        with pytest.raises(DomainError, match=r"^file = .*a CSV file"):
            angrist_evans(tmp_path)
    (tmp_path / f"{NAME}.gz").unlink()
    (tmp_path / NAME).write_bytes(b"morekids,gender1\xff,gender2,work\n")
    with pytest.raises(DomainError, match=r"^file = .*a CSV file"):
        angrist_evans(tmp_path)
