"""The store survives a kill at any byte, refuses damage, and never leaves half a file."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from dpbounds import DomainError
from verify.running.store import Store, key_of, read_json, strict, write_json


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
    ("damage", "line"),
    [
        (lambda text: text.replace("0.333", "0.334", 1), 2),
        (lambda text: "not json\n" + text, 1),
        (lambda text: text.replace('"key"', '"kez"', 1), 1),
        (lambda text: "\x00" * 10 + "\n" + text, 1),
        (lambda text: "[" * 100_000 + "\n" + text, 1),
        (lambda text: text.replace("\n", "\nnull\n", 1), 2),
    ],
)
def test_a_damaged_line_costs_that_line_and_is_said(tmp_path, damage, line):
    path = filled(tmp_path)
    before = damage(path.read_text())
    path.write_text(before)
    with Store(tmp_path) as store:
        (said,) = store.damaged
        assert said.startswith(f"line {line} of {path} is damaged")
        assert len(store.records) == 5 - (before.count("\n") == 5)
        store.append("new", {"value": 1}, 0.0)
    assert path.read_text().startswith(before)
    with Store(tmp_path) as store:
        assert store.records["new"]["result"] == {"value": 1}


def test_any_one_byte_changed_costs_at_most_two_lines_and_gives_nothing_false(tmp_path):
    """Two where the byte is a line's end; what is read is what was written."""
    whole = filled(tmp_path).read_bytes()
    with Store(tmp_path) as store:
        written = dict(store.records)
    for place in range(0, len(whole) - 1, 3):
        for byte in (0, whole[place] ^ 1, ord("\n")):
            changed = whole[:place] + bytes([byte]) + whole[place + 1 :]
            (tmp_path / "tasks.jsonl").write_bytes(changed)
            with Store(tmp_path) as store:
                assert len(store.records) >= 5 - (2 if whole[place : place + 1] == b"\n" else 1)
                assert all(written[key] == record for key, record in store.records.items())


def test_a_file_without_a_record_is_refused_and_kept(tmp_path):
    (tmp_path / "tasks.jsonl").write_text("garbage\nmore\n")
    with pytest.raises(DomainError, match=r"line 1 of the store = .*tasks.jsonl .*--store"):
        Store(tmp_path)
    assert (tmp_path / "tasks.jsonl").read_text() == "garbage\nmore\n"


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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of threads that the copy lacks
def test_a_copy_of_the_process_does_not_keep_the_lock(tmp_path):
    with Store(tmp_path) as store:
        ready, told = os.pipe()
        child = os.fork()
        if not child:
            os.write(told, b"." if store._journal.closed else b"open")
            signal.pause()
        state = os.read(ready, 4)
    try:
        with Store(tmp_path):
            assert state == b"."
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(told)


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
