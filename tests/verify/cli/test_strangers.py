"""A package of somebody else's that cannot be loaded is named in one line and left out of every command."""

from __future__ import annotations

import json

import pytest

from tests.verify.cli.strangers import CLAIM, TOPIC, WHOLE, dpbounds, install

TWICE = CLAIM + CLAIM.replace("ONE = ", "TWO = ")
# How the package is broken, and what is said of it.
BROKEN = {
    "does not import": ({**WHOLE, "other/__init__.py": "import nothing_of_this_name\n"}, "nothing_of_this_name"),
    "ends the process": ({**WHOLE, "other/__init__.py": "raise SystemExit('gone\\nfor good')\n"}, "gone for good"),
    "is no topic": ({**WHOLE, "other/__init__.py": "TOPIC = 'me'\n"}, "a verify.Topic"),
    "has a name of ours": (
        {**WHOLE, "other/__init__.py": TOPIC.replace('"other"', '"iv"', 1)},
        "name of other:TOPIC = iv",
    ),
    "has no such source": ({**WHOLE, "other/__init__.py": TOPIC.replace('("other",)', '("gone",)')}, "source = gone"),
    "uses an id twice": ({**WHOLE, "other/claims/s1_one.py": TWICE}, "claim id = other/one"),
    "has a broken claim": ({**WHOLE, "other/claims/s1_one.py": "import also_nothing\n"}, "also_nothing"),
    "is not Typst": (
        {**WHOLE, "other/claims/s1_one.py": CLAIM.replace("$1 = 1$", "$alhpa$")},
        "statement of other/one",
    ),
}


@pytest.fixture(params=BROKEN)
def broken(request, tmp_path):
    files, reason = BROKEN[request.param]
    install(tmp_path / "site", files)
    return request.param, reason


def test_it_is_left_out_and_named_in_one_line(broken, tmp_path):
    how, reason = broken
    listed = dpbounds("list", "--json", site=tmp_path / "site", cwd=tmp_path)
    assert listed.returncode == 0 and {row["topic"] for row in json.loads(listed.stdout)} == {
        "ftrl",
        "iv",
        "ols",
        "glm",
    }
    (line,) = listed.stderr.splitlines()
    assert line.startswith("dpbounds: topic other is left out: ") and reason in line
    if how in ("is no topic", "uses an id twice"):
        named = dpbounds("verify", "other/one", "--jobs", "1", site=tmp_path / "site", cwd=tmp_path)
        (line,) = named.stderr.splitlines()
        assert named.returncode == 2 and reason in line


def test_every_other_command_goes_on(tmp_path):
    files, reason = BROKEN["does not import"]
    install(tmp_path / "site", files)
    for line, named in (
        ("verify ftrl/thm-2.1-opt --jobs 1", True),
        ("report ftrl --out a.pdf", False),  # reads the results file and loads no topic
        ("solve glm --help", True),
        ("design ftrl --help", True),
    ):
        run = dpbounds(*line.split(), site=tmp_path / "site", cwd=tmp_path)
        told = [shown for shown in run.stderr.splitlines() if reason in shown]
        assert (run.returncode, len(told)) == (0, named), (line, run.stderr)
    run = dpbounds("solve", "other", site=tmp_path / "site", cwd=tmp_path)
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1


def test_a_command_of_its_own_that_does_not_import(tmp_path):
    topic = TOPIC.replace('title="Other"', 'title="Other", solve="other.gone", check="other.gone"')
    install(tmp_path / "site", {**WHOLE, "other/__init__.py": topic})
    run = dpbounds("solve", "other", site=tmp_path / "site", cwd=tmp_path)
    (line,) = run.stderr.splitlines()
    assert run.returncode == 2 and "other.gone" in line
    run = dpbounds("solve", "--check", "nothing.json", site=tmp_path / "site", cwd=tmp_path)
    assert run.returncode == 2 and "topic other is left out" in run.stderr and "Traceback" not in run.stderr


def test_completion_stays_silent(tmp_path):
    install(tmp_path / "site", BROKEN["does not import"][0])
    answer = tmp_path / "answer"
    for line, among in (("dpbounds verify ", "iv/"), ("dpbounds solve other ", ""), ("dpbounds list other/", "")):
        shell = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\v", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
        shell |= {"COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9"}
        run = dpbounds(site=tmp_path / "site", cwd=tmp_path, **shell)
        assert (run.returncode, run.stderr) == (0, "")
        assert among in answer.read_text() and "other/" not in answer.read_text()


def test_a_whole_one_is_like_any_other(tmp_path):
    install(tmp_path / "site", WHOLE)
    run = dpbounds("verify", "other", "--jobs", "1", "--json", site=tmp_path / "site", cwd=tmp_path)
    assert (run.returncode, [row["verdict"] for row in json.loads(run.stdout)]) == (0, ["confirmed"])
