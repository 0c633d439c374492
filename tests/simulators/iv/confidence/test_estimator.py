"""The estimator: scikit-learn's conventions, arrays and data frames, seeds, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from dpbounds import DomainError
from dpbounds.iv.confidence import MomentRelease, anderson_rubin
from dpbounds.private import InstrumentalVariables

N = 400
ROLES: dict[str, Any] = {"outcome": "weeks", "regressors": "child", "instruments": ["same", "twins"]}
RANGES = {"weeks": (0, 52), "child": (0, 1)}


def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    same, twins, w = rng.integers(0, 2, N), rng.integers(0, 2, N), rng.integers(0, 2, N)
    child = np.clip(0.5 * same + 0.3 * twins + 0.2 * rng.random(N), 0, 1)
    return {"same": same, "twins": twins, "region": w, "child": child, "weeks": 30 - 8 * child + 5 * rng.random(N)}


class Frame:
    """As much of a data frame as is needed: columns by name."""

    def __init__(self, table: dict[str, np.ndarray]) -> None:
        self.table = table

    def __getitem__(self, name: str) -> np.ndarray:
        return self.table[name]


def model(**others: Any) -> InstrumentalVariables:
    return InstrumentalVariables(**{"mu": 3.0, "bounds": RANGES, "seed": 1, **others})


def test_arrays_and_data_frames_give_the_same():
    table = columns()
    framed = model().fit(Frame(table), **ROLES, controls=["region"])
    mapped = model().fit(table, **ROLES, controls="region")
    stacked = np.column_stack([table["same"], table["twins"]])
    arrays = model(bounds={"outcome": (0, 52), "regressor": (0, 1)})
    arrays.fit(
        outcome=table["weeks"], regressors=table["child"][:, None], instruments=stacked, controls=table["region"]
    )
    for other in (mapped, arrays):
        assert other.confidence_set_.pieces == framed.confidence_set_.pieces and other.coef_ == framed.coef_
    assert arrays.plan_.instruments == ("instrument_1", "instrument_2") and arrays.plan_.controls == ("control",)


def test_results_are_attributes_and_the_row_says_the_same():
    fitted = model().fit(columns(), **ROLES)
    row = fitted.answer_.row()
    assert fitted.coef_.tolist() == [row["point"]] and fitted.length_ratio_ == row["length_ratio"]
    assert [list(map(float, piece)) for piece in fitted.confidence_set_.pieces] == row["pieces"]
    assert fitted.mu_ == row["mu"] == 3.0 and fitted.epsilon_ == row["epsilon"] and fitted.n_star_ == row["n_star"]
    assert [line._asdict() for line in fitted.budget_] == row["budget"] and not fitted.private_
    assert isinstance(fitted.release_, MomentRelease) and fitted.first_stage_.f == row["first_stage_F"]
    # The release answers other questions without spending more.
    inner = fitted.coef_ - fitted.answer_.disclosure.shift
    assert anderson_rubin(fitted.release_, inner).statistic < anderson_rubin(fitted.release_, inner + 9).statistic


def test_a_seed_repeats_and_none_spends_again():
    table = columns()
    assert model().fit(table, **ROLES).coef_ == model().fit(table, **ROLES).coef_
    fresh = model(seed=None).fit(table, **ROLES)
    first = fresh.coef_
    assert fresh.private_ and fresh.fit(table, **ROLES).coef_ != first


def test_parameters_are_stored_as_they_are_and_checked_by_fit():
    wrong = InstrumentalVariables(epsilon=-1.0, design="x")  # pyright: ignore
    assert wrong.get_params()["epsilon"] == -1.0
    with pytest.raises(DomainError, match="epsilon"):
        wrong.fit(columns(), **ROLES)
    copied = clone(model(level=0.9))
    assert copied.get_params() == model(level=0.9).get_params() and not hasattr(copied, "coef_")
    assert copied.set_params(level=0.8, seed=4) is copied and copied.level == 0.8
    with pytest.raises(DomainError, match="parameter = levle"):
        copied.set_params(levle=0.9)


def test_its_repr_has_parameters_and_no_data():
    fitted = model().fit(columns(), **ROLES)
    assert repr(fitted) == "InstrumentalVariables(bounds={'weeks': (0, 52), 'child': (0, 1)}, mu=3.0, seed=1)"
    assert repr(InstrumentalVariables()) == "InstrumentalVariables()"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weeks": np.full(N, np.nan)}, "column weeks = a value that is missing"),
        ({"weeks": np.zeros((N, 2))}, "column weeks"),
        ({"weeks": np.zeros(3)}, "of one length"),
        ({"same": np.ones(N)}, "one value in all records.*not private"),
        ({"child": np.array(["a"] * N)}, "column child"),
    ],
)
def test_columns_that_cannot_be_used(change, words):
    with pytest.raises(DomainError, match=words):
        model().fit({**columns(), **change}, **ROLES)


def test_other_things_that_cannot_be_used():
    table = columns()
    with pytest.raises(DomainError, match="column = sun"):
        model().fit(table, **{**ROLES, "instruments": "sun"})
    with pytest.raises(DomainError, match="instruments"):
        model().fit(outcome=table["weeks"], regressors=table["child"], instruments=np.zeros((2, 2, 2)))
    with pytest.raises(DomainError, match="at least 10"):
        model().fit({name: column[:5] for name, column in table.items()}, **ROLES)
    with pytest.raises(DomainError, match="0 or 1 with design s"):
        signs = model(design="s", grid=(-60, 60), instrument_means={"same": 0.5})
        signs.fit({**table, "same": 0.5 * table["same"]}, **{**ROLES, "instruments": "same"})
    with pytest.raises(DomainError, match="2000 combinations"):
        many = {name: np.tile(column, 6) for name, column in table.items()}
        model().fit({**many, "region": np.arange(6 * N)}, **ROLES, controls="region")


def test_theory_does_not_load_it():
    code = "import sys, dpbounds; sys.exit('simulators' in sys.modules or 'dpbounds.private' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
