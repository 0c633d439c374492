"""The store survives a kill at any byte, refuses damage, and never leaves half a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpbounds import DomainError
from verify.store import Store, key_of, read_json, strict, write_json


def filled(folder: Path, count: int = 5, shard: str = "") -> Path:
    with Store(folder, shard) as store:
        for index in range(count):
            store.append(f"key{shard}{index}", {"value": index / 3}, 0.1)
    return folder / f"tasks{shard}.jsonl"


def test_what_is_appended_is_read_again(tmp_path):
    filled(tmp_path)
    with Store(tmp_path) as store:
        assert store.records["key2"] == {"key": "key2", "result": {"value": 2 / 3}, "seconds": 0.1}


def test_every_truncation_loses_at_most_the_last_record(tmp_path):
    whole = filled(tmp_path).read_bytes()
    boundaries = [position for position, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(len(whole) - 200, len(whole) + 1):
        (tmp_path / "tasks.jsonl").write_bytes(whole[:cut])
        complete = sum(position < cut for position in boundaries)
        with Store(tmp_path) as store:
            assert len(store.records) == complete
            store.append("new", {"value": 1}, 0.0)
        with Store(tmp_path) as store:
            assert len(store.records) == complete + 1 and store.records["new"]["result"] == {"value": 1}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("0.333", "0.334", 1),
        lambda text: "not json\n" + text,
        lambda text: text.replace('"key"', '"kez"', 1),
        lambda text: "\x00" * 10 + "\n" + text,
    ],
)
def test_damage_is_an_error_that_names_the_line(tmp_path, damage):
    path = filled(tmp_path)
    before = damage(path.read_text())
    path.write_text(before)
    with pytest.raises(DomainError, match=r"line \d of the store = .*tasks.jsonl .*--store"):
        Store(tmp_path)
    assert path.read_text() == before


def test_shards_are_joined(tmp_path):
    filled(tmp_path, 2, "-0-of-2")
    filled(tmp_path, 3, "-1-of-2")
    with Store(tmp_path) as store:
        assert len(store.records) == 5


def test_a_second_writer_is_refused_until_the_first_is_done(tmp_path):
    with Store(tmp_path):
        with pytest.raises(DomainError, match=r"no other run is writing.*--shard"):
            Store(tmp_path)
        with Store(tmp_path, "-0-of-2"):
            pass
    with Store(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DomainError, match=r"store = .*file"):
        Store(tmp_path / "file" / "store")


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    write_json(path, {"a": 1})
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(DomainError, match="No space left"):
        write_json(path, {"a": 2})
    assert read_json(path) == {"a": 1} and [file.name for file in tmp_path.iterdir()] == ["results.json"]


def test_json_has_no_infinities(tmp_path):
    write_json(tmp_path / "x.json", {"a": float("inf"), "b": [float("nan"), -float("inf")], "c": (1, 2)})
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": "inf", "b": ["nan", "-inf"], "c": [1, 2]}
    assert strict({1: True}) == {"1": True}


def test_an_unreadable_results_file_is_named(tmp_path):
    (tmp_path / "results.json").write_text('{"format": ')
    with pytest.raises(DomainError, match=r"results\.json.*JSON file that dpbounds wrote"):
        read_json(tmp_path / "results.json")
    assert read_json(tmp_path / "none.json") is None


def test_keys_depend_on_content_and_code():
    one = key_of({"a": 1}, "code")
    assert key_of({"a": 1}, "code") == one not in (key_of({"a": 2}, "code"), key_of({"a": 1}, "other"))
