"""`verify/proof_checker.py` on files: what is proved, what is false or no proof, and files that were changed."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from tests.verify.proof_files import (
    ALL,
    BOXES,
    CHECKER,
    EXACT,
    GENERIC,
    INTEGRAL,
    POINT,
    SIGN,
    SQUARES,
    TIED,
    ZERO_CORNER,
    changed,
    common,
    is_false,
    put,
    verdict_of,
)
from verify import proof_checker as pc


@pytest.mark.parametrize("data", ALL, ids=lambda data: f"{data['kind']} {data['check']}")
def test_what_is_proved_is_accepted(tmp_path, data):
    verdict, said = verdict_of(tmp_path, data)
    assert verdict == "accepted", said


FALSE = (
    {**BOXES, "steps": [*BOXES["steps"][:2], ["number", "1000000001/1000000000"], BOXES["steps"][3]]},
    {**BOXES, "smaller": 3, "larger": 1},
    {**BOXES, "cuts": "00v0v0vv"},
    {**BOXES, "cuts": "00v0v0vvvv"},
    {**BOXES, "cuts": "v", "steps": [*BOXES["steps"][:2], ["number", "9/10"], BOXES["steps"][3]]},
    {**BOXES, "cuts": ""},
    {**BOXES, "cuts": "10vv"},
    {**BOXES, "cuts": "\u0660vv"},
    {**BOXES, "variables": [["x", "1", "1/1000", "log"]]},
    {**BOXES, "variables": [["x", "1/1000", "1", "log"]] * 2},
    {**BOXES, "variables": [["x", "0", "1", "log"]]},
    {**BOXES, "variables": [["x", 0.001, 1.0, "log"]]},
    {**BOXES, "bits": 10**9},
    {**BOXES, "bits": True},
    {**BOXES, "check": -1},
    {**BOXES, "extra": 1},
    {**BOXES, "format": "dpbounds-proof/1"},
    {**BOXES, "kind": "integral"},
    {**BOXES, "steps": [*BOXES["steps"][:1], ["integral", 0, "v"], *BOXES["steps"][2:]]},
    {**GENERIC, "steps": [["variable", 0], ["integral", 0, "v"], *GENERIC["steps"][2:]]},
    {**INTEGRAL, "relations": [["<", 7, 6]]},
    {**INTEGRAL, "relations": [["<=", 5, 7]]},
    {**INTEGRAL, "relations": [["<", 1, 7]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "v"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "00dd"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "00dd0ddd"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "01dd0dd"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, 4], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 6, "d"], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:6], ["integral", 5, "d" * 6_000_000], *INTEGRAL["steps"][7:]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"], ["integral", 5, "d"]]},
    {**INTEGRAL, "steps": [*INTEGRAL["steps"][:4], ["sub", 3, 2], *INTEGRAL["steps"][5:]]},
    {**INTEGRAL, "over": "a"},
    {**INTEGRAL, "over": ["u"]},
    {key: value for key, value in INTEGRAL.items() if key != "over"},
    {key: value for key, value in INTEGRAL.items() if key != "bits"},
    {**BOXES, "kind": ["boxes"]},
    {**BOXES, "steps": [["variable", 0], ["log", 1], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["variable", 0], ["log", True], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["variable", 0], ["_log", 0], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["variable", 0], ["least", 0], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["number", "1"]] * 6000},
    {**BOXES, "steps": [["variable", 0], ["whole_power", 0, 10**9], *BOXES["steps"][2:]]},
    {**BOXES, "steps": [["number", "nan"], *BOXES["steps"][1:]]},
    {**BOXES, "steps": [["number", "1/0"], *BOXES["steps"][1:]]},
    {**BOXES, "steps": [["number", "1/-3"], *BOXES["steps"][1:]]},
    {**BOXES, "steps": [["number", "9" * 5000], *BOXES["steps"][1:]]},
    {**TIED, "certificate": 3, "factor": 7},
    {**TIED, "factor": 2, "certificate": 5},
    {**ZERO_CORNER, "variables": [["x", "1/2", "9/8", "linear"]]},
    {**ZERO_CORNER, "steps": [*ZERO_CORNER["steps"][:2], ["number", f"{10**30 + 1}/{10**30}"], ["sub", 0, 2]]},
    {**POINT, "relations": [["<", 0, 1]]},
    {**POINT, "relations": [["=", 1, 2]]},
    {**POINT, "relations": [["<", 1, 1]]},
    {**POINT, "relations": []},
    {**POINT, "relations": [[["<"], 1, 0]]},
    {**EXACT, "relations": [["!=", 1, 2]]},
    {**EXACT, "steps": [["variable", 0], ["log", 0], ["number", "4/9"]]},
    {**GENERIC, "equal": [[4, 6]]},
    {**GENERIC, "equal": []},
    {**GENERIC, "equal": [[4, 7, 7]]},
    {**GENERIC, "equal": [[4, 8]]},
    {**SIGN, "nonnegative": [[12, 12]]},
    {**SIGN, "nonnegative": [[8, 10]]},
    {**SIGN, "nonnegative": [[2, 2]]},
    {**SIGN, "equal": [[8, 11]]},
    {**SIGN, "steps": [*SIGN["steps"][:5], ["number", "2"], *SIGN["steps"][6:]]},
    common("sign", 6, variables=["x"], nonnegative=[[1, 1]], steps=[["variable", 0], ["log", 0]]),
    common("sign", 6, variables=["x"], nonnegative=[[1, 1]], steps=[["variable", 0], ["number", "-1"]]),
    common("sign", 6, variables=["x"], nonnegative=[[2, 2]], steps=[["variable", 0], ["number", "0"], ["mul", 0, 1]]),
    common("sign", 6, variables=["x"], nonnegative=[[1, 1]], steps=[["variable", 0], ["neg", 0]]),
    {**SQUARES, "squares": [[9, 9]]},
    {**SQUARES, "squares": [[0, 0]]},
    {**SQUARES, "squares": [[5, 5]]},
    {**SQUARES, "squares": [[10, 10]]},
    {**SQUARES, "squares": [[9, 11]]},
    {**SQUARES, "squares": []},
    {**SQUARES, "steps": [*SQUARES["steps"][:11], ["whole_power", 10, 3], ["add", 11, 6]]},
    {**SQUARES, "steps": [*SQUARES["steps"][:11], ["whole_power", 10, 2], ["sub", 11, 6]]},
    {**SQUARES, "steps": [*SQUARES["steps"][:4], ["number", "-2"], *SQUARES["steps"][5:]]},
    common("squares", 7, variables=["x"], squares=[[1, 1]], steps=[["variable", 0], ["exp", 0]]),
    common("squares", 7, variables=["x"], squares=[[1, 1]], steps=[["variable", 0], ["whole_power", 0, -3]]),
    {**GENERIC, "steps": [*GENERIC["steps"][:4], ["whole_power", 3, 3], *GENERIC["steps"][5:]]},
    common("generic", 5, variables=["x"], equal=[[1, 0]], steps=[["variable", 0], ["absolute", 0]]),
    common("derivation", None, tree={"says": "it", "from": [{"lemma": "conjunction"}]}),
    common("derivation", None, tree={"says": "it", "from": [{"file": "0.json"}]}),
    common("derivation", None, tree={"says": "it", "from": [{"lemma": "it is plain"}]}),
)  # fmt: skip


@pytest.mark.parametrize("data", FALSE, ids=range(len(FALSE)))
def test_what_is_false_or_no_proof_is_refused(tmp_path, data):
    assert verdict_of(tmp_path, data)[0] == "refused"


def test_a_derivation_stands_and_falls_with_its_files(tmp_path, monkeypatch):
    files = [put(tmp_path, data) for data in (BOXES, GENERIC)]
    tree = {"says": "both", "from": [{"lemma": "conjunction"}, *({"file": name} for name in files)]}
    derivation = common("derivation", None, tree=tree)
    assert verdict_of(tmp_path, derivation)[0] == "accepted"
    false = put(tmp_path, {**BOXES, "check": 9, "smaller": 3, "larger": 1})
    bad = {**derivation, "tree": {"says": "both", "from": [{"file": false}]}}
    verdict, reason = verdict_of(tmp_path, bad)
    assert verdict == "refused" and false in reason
    deep = tree
    for _ in range(40):
        deep = {"says": "deeper", "from": [deep]}
    assert verdict_of(tmp_path, {**derivation, "tree": deep})[0] == "refused"
    # No file can name one that names it, as names are hashes: unless hashes are broken.
    monkeypatch.setattr(pc, "name_of", lambda content: f"{json.loads(content)['check']}.json")
    for check, other in ((1, 2), (2, 1)):
        rest = {"tree": {"says": "circle", "from": [{"file": f"{other}.json"}]}}
        (tmp_path / f"{check}.json").write_text(json.dumps(common("derivation", check, **rest)))
    verdict, reason = pc.Folder(tmp_path).verdict("1.json")
    assert verdict == "refused" and "itself" in reason


def test_of_2000_changed_files_none_that_is_false_is_accepted(tmp_path):
    rng, accepted = random.Random(3), 0
    for turn in range(2000):
        original = (*ALL, BOXES, POINT, SIGN)[turn % 12]
        if turn % 5 == 4:  # a byte of the file
            content = bytearray(json.dumps(original).encode())
            place = rng.randrange(len(content))
            content[place] ^= 1 << rng.randrange(7)
            data = bytes(content[: rng.choice((len(content), place))])
        else:
            data = changed(original, rng)
        verdict, _ = verdict_of(tmp_path, data)
        if verdict == "accepted":
            accepted += 1
            assert not is_false(json.loads(data) if isinstance(data, bytes) else data, rng), data
    assert 100 < accepted < 1000


def test_a_folder_names_what_it_refuses_and_exits_with_2(tmp_path):
    good = put(tmp_path, BOXES)

    def run(folder=tmp_path):
        return subprocess.run(
            [sys.executable, "-I", str(CHECKER), str(folder)], capture_output=True, text=True, check=False
        )

    accepted = run()
    assert accepted.returncode == 0 and f"{good}: accepted" in accepted.stdout and "log(x)" in accepted.stdout
    (tmp_path / "0123.json").write_bytes((tmp_path / good).read_bytes())
    (tmp_path / "link.json").symlink_to(tmp_path / good)
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "notes.txt").write_text("no proof")
    huge, twice = put(tmp_path, b" " * 4_000_001), put(tmp_path, {**BOXES, "code": "1"})
    nested, nan = put(tmp_path, b"[" * 100_000), put(tmp_path, json.dumps(BOXES).replace('"1"', "NaN").encode())
    double = put(tmp_path, json.dumps(BOXES)[:-1].encode() + b', "cuts": "v"}')
    refused = run()
    assert refused.returncode == 2 and not refused.stderr
    for name in ("0123.json", "link.json", "folder.json", "notes.txt", huge, nested, nan, double):
        assert f"{name}: refused" in refused.stdout
    assert min(refused.stdout.count(f"{name}: refused") for name in sorted((good, twice))[1:]) == 1
    assert run(tmp_path / "nowhere").returncode == 2 and run(tmp_path / "folder.json").returncode == 2
