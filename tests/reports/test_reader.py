"""The reader of results files: what it takes, and one line for everything that it does not."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from reports.results import ReportError, as_number, read
from tests.reports.examples import claim, content, evidence, one_of_each, picture, results, series, slope, write


def test_a_file_is_read_in_full(tmp_path: Path) -> None:
    found = results(tmp_path, one_of_each())
    assert [entry.verdict for entry in found.of("ftrl")] == [
        "confirmed",
        "confirmed",
        "corrected",
        "refuted",
        "undecided",
        "not run",
    ]
    assert found.topics == ["ftrl", "other"]
    assert found.versions == {"numpy": "2.0.0", "python": "3.11.7"}
    drawn = found.entries[0].evidence[0].picture
    assert drawn is not None
    assert [item.role for item in drawn.series] == ["theory", "simulation", "bound", "printed"]
    assert (drawn.series[1].low, drawn.series[0].low) == ((1.5, 15.0, 150.0), ())
    assert drawn.slopes[0].simulated == 1.013
    assert found.entries[0].slack == 1.0189


def test_numbers_that_json_lacks(tmp_path: Path) -> None:
    drawn = picture(series(y=["inf", "-inf", "nan"]))
    (entry,) = results(tmp_path, [claim(slack="inf", evidence=[evidence(picture=drawn)])]).entries
    assert entry.slack == math.inf
    assert entry.evidence[0].picture is not None
    y = entry.evidence[0].picture.series[0].y
    assert y[:2] == (math.inf, -math.inf)
    assert math.isnan(y[2])


@pytest.mark.parametrize("value", ["1.0", "Infinity", "", True, None, [], {}, 10**400])
def test_what_is_not_a_number(value: Any) -> None:
    assert as_number(value) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a whole JSON file"),
        ('{"format": "dpbounds-results/1", "claims": [', "not a whole JSON file"),
        ("[" * 100_000, "not a whole JSON file"),
        ("[]", "must be an object"),
        ("{}", "format is None"),
        ('{"format": "dpbounds-results/9"}', "reads dpbounds-results/1"),
        ('{"format": "dpbounds-results/1"}', "'versions' is missing"),
        ('{"format": "dpbounds-results/1", "versions": {}, "claims": {}}', "'claims' must be a list"),
        ('{"format": "dpbounds-results/1", "versions": {}, "claims": []}', "no claims in it"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text, encoding="utf-8")
    _refused(path, message)


def test_unreadable_files(tmp_path: Path) -> None:
    _refused(tmp_path / "none.json", "no such file; run `dpbounds verify`")
    _refused(tmp_path, "cannot be read")
    path = tmp_path / "binary.json"
    path.write_bytes(b"\xff\xfe\x00")
    _refused(path, "not a whole JSON file")


def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    whole = json.dumps(content([claim()]))
    path = tmp_path / "results.json"
    for end in range(0, len(whole), 7):
        path.write_text(whole[:end], encoding="utf-8")
        _refused(path, "not a whole JSON file")


@pytest.mark.parametrize("key", list(claim()))
def test_a_missing_key_of_a_claim(tmp_path: Path, key: str) -> None:
    cut = {name: value for name, value in claim().items() if name != key}
    _refused(write(tmp_path, [claim(), cut]), f"claim 2.*the key '{key}' is missing")


@pytest.mark.parametrize("key", sorted(set(evidence()) - {"rows"}))
def test_a_missing_key_of_evidence(tmp_path: Path, key: str) -> None:
    cut = {name: value for name, value in evidence().items() if name != key}
    _refused(write(tmp_path, [claim(evidence=[cut])]), f"ftrl/thm-1.*evidence 1: the key '{key}' is missing")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"claim": 3}, "'claim' must be a string"),
        ({"verdict": "perhaps"}, "'verdict' must be one of confirmed"),
        ({"reviewed": ""}, "'reviewed' must be one of confirmed"),
        ({"how": "guessed"}, "'how' must be one of proved"),
        ({"level": "slow"}, "'level' must be one of quick"),
        ({"seed": -1}, "'seed' must be a whole number"),
        ({"seed": True}, "'seed' must be a whole number"),
        ({"slack": "big"}, "'slack' must be a number, not 'big'"),
        ({"evidence": None}, "'evidence' must be a list"),
        ({"statement": "x" * 500, "where": 1}, "'where' must be a string"),
    ],
)
def test_a_wrong_field_of_a_claim(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    _refused(write(tmp_path, [claim(**changes)]), message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outcome": "maybe"}, "'outcome' must be one of holds"),
        ({"form": ""}, "'form' must be one of printed"),
        ({"counterexample": []}, "'counterexample' must be an object"),
        ({"trials": 1.5}, "'trials' must be a whole number"),
        ({"picture": 1}, "picture: must be an object"),
        ({"picture": {}}, "picture: the key 'series' is missing"),
        ({"picture": picture(series(role="line"))}, "series 1: 'role' must be one of theory"),
        ({"picture": picture(series(x=[1.0]))}, r"columns of different lengths \(1 x, 3 y\)"),
        ({"picture": picture(series(low=[1.0, 2.0, 3.0]))}, "the key 'high' is missing"),
        ({"picture": picture(series(y=[1.0, "many", 3.0]))}, "'y' must be a list of numbers"),
        ({"picture": picture(slopes=[{**slope(), "exact": None}])}, "slope 1: 'exact' must be a number"),
    ],
)
def test_a_wrong_field_of_evidence(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    _refused(write(tmp_path, [claim(evidence=[evidence(**changes)])]), message)


def _refused(path: Path, message: str) -> None:
    with pytest.raises(ReportError, match=message) as refusal:
        read(path)
    text = str(refusal.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    assert len(text) < 400
