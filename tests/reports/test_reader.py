"""The reader of results files: what it takes, and one line for everything that it does not."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from reports.reader import as_number, checksum, read
from reports.results import ReportError
from tests.reports.examples import (
    claim,
    clause,
    content,
    corrected,
    evidence,
    failed,
    full_topic,
    highlight,
    one_of_each,
    picture,
    results,
    series,
    slope,
    topic,
    write,
)


def test_a_file_is_read_in_full(tmp_path: Path) -> None:
    found = results(tmp_path, one_of_each())
    assert [entry.verdict for entry in found.of("ftrl")] == [
        *["confirmed"] * 3,
        *["corrected"] * 4,
        "refuted",
        "undecided",
        "not run",
    ]
    assert [paper.name for paper in found.papers] == ["ftrl", "other"]
    assert (found.date, found.machine) == ("2026-01-31", "Linux x86_64")
    assert found.papers[0].stands[0].claims == ("ftrl/bound",)
    assert found.papers[0].figures[0].panels[0].claim == "ftrl/fig-1-left"
    assert found.versions == {"numpy": "2.0.0", "python": "3.11.7"}
    drawn = found.entries[0].evidence[0].picture
    assert drawn is not None
    assert [item.role for item in drawn.series] == [
        "exact",
        "simulated",
        "upper",
        "lower",
        "printed",
        "exact",
    ]
    assert (drawn.series[1].low, drawn.series[0].low) == ((1.5, 15.0, 150.0), ())
    assert drawn.typeset == {"x": "dimension $d$", "y": "error $F$"}
    assert drawn.slopes[0].simulated == 1.013
    assert found.entries[0].slack == 1.0189


def test_numbers_that_json_lacks(tmp_path: Path) -> None:
    drawn = picture(series(y=["inf", "-inf", "nan"]))
    (entry,) = results(tmp_path, [claim(slack="inf", evidence=[evidence(picture=drawn, slack="inf")])]).entries
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
        ('{"format": "dpbounds-results/5", "claims": [', "not a whole JSON file"),
        ("[" * 100_000, "not a whole JSON file"),
        ("[]", "must be an object"),
        ("{}", "format is None"),
        ('{"format": "dpbounds-results/4"}', "reads dpbounds-results/5"),
        ('{"format": "dpbounds-results/5"}', "'versions' is missing"),
        ('{"format": "dpbounds-results/5", "versions": {}, "claims": {}}', "'claims' must be a list"),
        ('{"format": "dpbounds-results/5", "versions": {}, "claims": []}', "no claims in it"),
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
    _refused(
        write(tmp_path, [claim(how="numeric", evidence=[cut])]), f"ftrl/thm-1.*evidence 1: the key '{key}' is missing"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"claim": 3}, "'claim' must be a string"),
        ({"verdict": "perhaps"}, "'verdict' must be one of confirmed"),
        ({"reviewed": ""}, "'reviewed' must be one of confirmed"),
        ({"how": "guessed"}, "'how' must be one of proved"),
        ({"severity": "bad"}, "'severity' must be one of substantive"),
        ({"touches": ""}, "'touches' must be one of statement"),
        ({"page": None}, "'page' must be a whole number"),
        ({"open": 0}, "'open' must be true or false"),
        ({"typeset": {}}, "typeset: the key 'statement' is missing"),
        ({"level": "slow"}, "'level' must be one of quick"),
        ({"seed": -1}, "'seed' must be a whole number"),
        ({"seed": True}, "'seed' must be a whole number"),
        ({"slack": "big"}, "'slack' must be a number, not 'big'"),
        ({"evidence": None}, "'evidence' must be a list"),
        ({"where": 1}, "'where' must be a string"),
        ({"topic": "ftrl", "root": None}, "'root' must be a string"),
    ],
)
def test_a_wrong_field_of_a_claim(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    _refused(write(tmp_path, [claim(**{"how": "numeric", **changes})]), message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"outcome": "maybe"}, "'outcome' must be one of holds"),
        ({"form": ""}, "'form' must be one of printed"),
        ({"counterexample": []}, "'counterexample' must be an object"),
        ({"trials": 1.5}, "'trials' must be a whole number"),
        ({"picture": 1}, "picture: must be an object"),
        ({"picture": {}}, "picture, typeset: must be an object|picture: the key 'typeset' is missing"),
        ({"picture": picture(series(role="line"))}, "series 1: 'role' must be one of exact"),
        ({"picture": picture(series(x=[1.0]))}, r"columns of different lengths \(1 x, 3 y\)"),
        ({"picture": picture(series(low=[1.0, 2.0, 3.0]))}, r"different lengths \(3 x, 3 y, 3 low, 0 high\)"),
        ({"picture": picture(series(y=[1.0, "many", 3.0]))}, "'y' must be a list of numbers"),
        ({"picture": picture(slopes=[{**slope(), "exact": None}])}, "slope 1: 'exact' must be a number"),
    ],
)
def test_a_wrong_field_of_evidence(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    _refused(write(tmp_path, [claim(evidence=[evidence(**changes)])]), message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stands": [{}]}, "highlight 1: the key 'claims' is missing"),
        ({"figures": [{"panels": [{}]}]}, "figure 1, panel 1: the key 'claim' is missing"),
        ({"title": None}, "'title' must be a string"),
        ({"sharper": [{"claims": [1], "sentence": "", "typeset": ""}]}, "'claims' must be strings"),
    ],
)
def test_a_wrong_field_of_a_topic(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    _refused(write(tmp_path, [claim()], [full_topic(**changes)]), message)


def test_a_claim_of_a_topic_that_is_not_there(tmp_path: Path) -> None:
    _refused(write(tmp_path, [claim()], [topic("iv")]), "topic 'ftrl' of 'ftrl/thm-1' is not among its topics")


# --- what was changed ---


@pytest.mark.parametrize(
    ("entry", "word", "said"),
    [
        (claim(), "corrected", "confirmed"),
        (corrected(), "confirmed", "corrected"),
        (claim(evidence=[failed()], verdict="refuted"), "undecided", "refuted"),
        (claim(evidence=[], verdict="not run"), "confirmed", "not run"),
        (claim(evidence=[evidence(outcome="unclear")], verdict="undecided"), "confirmed", "undecided"),
        (claim(open=True, verdict="undecided"), "confirmed", "undecided"),
        (corrected(evidence=[failed(), failed(form="corrected")], verdict="refuted"), "corrected", "refuted"),
        (corrected(evidence=[failed()], verdict="undecided", severity=None), "corrected", "undecided"),
    ],
)
def test_an_edited_verdict_is_named(tmp_path: Path, entry: dict[str, Any], word: str, said: str) -> None:
    assert results(tmp_path, [entry]).entries[0].verdict == said
    path = write(tmp_path, [{**entry, "verdict": word}])
    _refused(path, f"the verdict of '{entry['claim']}' is '{word}', but its evidence says '{said}'")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (claim(how="proved"), "the ground of 'ftrl/thm-1' is 'proved', but its evidence says 'numeric'"),
        (corrected(how="numeric"), "the ground of 'ftrl/thm-2' is 'numeric', but its evidence says 'proved'"),
        (claim(evidence=[evidence(), evidence(how="proved")], how="proved"), "but its evidence says 'numeric'"),
        (claim(slack=1.5), "the slack of 'ftrl/thm-1' is 1.5, but its evidence says None"),
        (claim(severity="slip"), "the severity of 'ftrl/thm-1' is 'slip', but a claim that is confirmed has none"),
        (
            claim(evidence=[failed(outcome="holds")]),
            "outcome of 'ftrl/thm-1' is 'holds', but there is a counterex",
        ),
        (claim(evidence=[evidence(how="proved", alpha=1e-9)]), "is 'proved', but chance decides it"),
        (claim(evidence=[evidence(how="certified", trials=5)]), "is 'certified', but chance decides it"),
        (claim(clauses=[clause("holds", "proved")]), "clause a as printed of 'ftrl/thm-1' is 'holds, proved'"),
        (claim(clauses=[clause("open")]), "is 'open', but its evidence says 'holds, numeric'"),
        (claim(clauses=[clause("holds", "numeric", letter="b")]), "but its evidence says 'open'"),
        (claim(evidence=[evidence(how="statistical")]), "is 'statistical', but there is no rate of false alarms"),
    ],
)
def test_what_contradicts_its_evidence_is_named(tmp_path: Path, entry: dict[str, Any], said: str) -> None:
    """With a checksum that fits."""
    _refused(write(tmp_path, [entry]), said)


PROGRAMS = (
    "#unknown",
    "#pagebreak()",
    '#read("/etc/hostname")',
    '#import "@preview/cetz:0.3.0"',
    "#for i in range(9) { for j in range(9) [x] }",
    "$x #panic() y$",
    '$std.eval("1")$',
    '$2std.read("a")$',
    "// ` a comment \n#let x = 1 // `",
    "one backslash too many: \\\\#let x = 1",
)


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.parametrize("field", ["statement", "remark", "picture", "sentence"])
def test_text_that_is_a_program_is_refused(tmp_path: Path, field: str, text: str) -> None:
    topics, changes = [topic()], {field: text}
    if field == "picture":
        changes = {"evidence": [evidence(picture=picture(series(typeset=f"$a$ {text}")))]}
    if field == "sentence":
        topics, changes = [topic(stands=[highlight(text, "ftrl/thm-1")])], {}
    _refused(write(tmp_path, [claim(**changes)], topics), "is a program, not text: ")


def test_signs_that_are_text_are_none(tmp_path: Path) -> None:
    results(tmp_path, [claim(statement="Number \\#1, the std. of $x$, standard.", remark='$"stdev"$')])


@pytest.mark.parametrize("change", ["finding", "severity", "versions", "page", "checksum"])
def test_anything_else_that_was_edited_is_noticed(tmp_path: Path, change: str) -> None:
    path = write(tmp_path, [corrected()])
    whole = json.loads(path.read_text())
    entry = whole["claims"][0]
    if change in entry:
        entry[change] = {"finding": "It is right.", "severity": "slip", "page": 4}[change]
    else:
        whole[change] = {"versions": {"numpy": "9"}, "checksum": "0" * 64}[change]
    path.write_text(json.dumps(whole))
    _refused(path, "checksum does not fit")


def test_the_checksum_is_that_of_verify() -> None:
    from verify.running import results as written

    body = content([claim(slack=1e-300), corrected()])
    own = {key: value for key, value in body.items() if key not in ("format", "checksum")}
    assert checksum(body) == written.checksum(own) == body["checksum"]


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_the_date_is_left_out_where_it_is_not_known(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, [claim()])
    path.with_name("run.json").unlink()
    assert (read(path).date, read(path).machine) == ("", "")
    path.with_name("run.json").write_text(text)
    if text == "[]":
        assert read(path).date == ""
    else:
        with pytest.raises(ReportError, match=r"run\.json: not a whole JSON file"):
            read(path)


def _refused(path: Path, message: str) -> None:
    with pytest.raises(ReportError, match=message) as refusal:
        read(path)
    text = str(refusal.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    assert len(text) < 400
