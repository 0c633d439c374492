"""Tables of the terminal: numbers and words whole at every width."""

from __future__ import annotations

import random

import pytest

from verify.cli.console import print_table

WORDS = ("independent", "best-nu", "certified", "nothing is proved here", "a", "Sections 2.2 and 4.1")


def table(number_of_rows, columns, seed):
    """Rows told apart by their first two columns, then numbers and texts."""
    generator = random.Random(seed)
    rows = []
    for row in range(number_of_rows):
        cells = {"mechanism": WORDS[row % 2], "kappa": 10.0 ** (row // 2)}
        for column in range(columns):
            number = generator.choice((1, -1)) * 10.0 ** generator.randint(-9, 9) * generator.random()
            whole, text = generator.randint(0, 10**6), generator.choice(WORDS)
            cells[f"column_{column}"] = generator.choice((number, whole, text, None))
        rows.append(cells)
    return rows


def shown(capsys, monkeypatch, rows, columns, width=None, **options):
    if width is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(width))
    print_table(rows, columns, **options)
    return capsys.readouterr().out


def text_of(value):
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("columns", [1, 5, 12])
def test_every_number_and_word_is_whole_and_no_line_too_long(capsys, monkeypatch, width, columns):
    for seed in range(10):
        rows = table(6, columns, seed)
        out = shown(capsys, monkeypatch, rows, list(rows[0]), width)
        tokens = out.split()
        for row in rows:
            for value in row.values():
                for word in text_of(value).split():
                    assert word in tokens, (width, seed, word, out)
        if f"{'mechanism':13}independent" not in out:  # blocks of a row have lines as long as their texts
            assert max(len(line.rstrip()) for line in out.splitlines()) <= width, out


def test_parts_repeat_what_tells_the_rows_apart(capsys, monkeypatch):
    rows = [
        {"mechanism": name, "eta": 0.1, "kappa": kappa, "twice": 2 * kappa, **{f"value_{k}": 1.5 * k for k in range(7)}}
        for name in ("sgd", "nu")
        for kappa in (10, 100)
    ]
    out = shown(capsys, monkeypatch, rows, list(rows[0]), 60, title="All of them")
    first, second, *rest = out.split("\n\n")
    assert rest == [] and first.splitlines()[0].rstrip() == "All of them"
    columns = [part.splitlines()[start].split() for part, start in ((first, 1), (second, 0))]
    keys, others = ["mechanism", "kappa"], [name for name in rows[0] if name not in ("mechanism", "kappa")]
    assert columns[0][:2] == columns[1][:2] == keys and columns[0][2:] + columns[1][2:] == others
    assert abs(len(columns[0]) - len(columns[1])) <= 2, "neither part is much wider"
    assert [line.split()[:2] for line in second.splitlines()[1:]] == [
        ["sgd", "10"],
        ["sgd", "100"],
        ["nu", "10"],
        ["nu", "100"],
    ]


def test_rows_that_no_column_tells_apart_repeat_the_first(capsys, monkeypatch):
    rows = [{"first": 1, **{f"value_{k}": 12345.5 for k in range(6)}}] * 2
    out = shown(capsys, monkeypatch, rows, list(rows[0]), 45)
    assert all(part.split()[0] == "first" for part in out.split("\n\n"))


def test_many_parts_become_a_block_for_each_row(capsys, monkeypatch):
    rows = [{"claim": f"iv/{k}", **{f"a_long_name_{j}": 1.5 for j in range(9)}, "empty": None} for k in range(2)]
    blocks = shown(capsys, monkeypatch, rows, list(rows[0]), 30).split("\n\n")
    assert [block.splitlines()[0].split() for block in blocks] == [["claim", "iv/0"], ["claim", "iv/1"]]
    assert "empty" not in blocks[0] and blocks[1].splitlines()[-1].split() == ["a_long_name_8", "1.5"]


def test_text_gives_way_before_the_table_is_cut(capsys, monkeypatch):
    rows = [{"claim": "iv/thm-1", "where": "Section 2.1 (Bun-Steinke, Prop. 1.3)", "verdict": "confirmed"}]
    out = shown(capsys, monkeypatch, rows, list(rows[0]), 40)
    assert "\n\n" not in out and len(out.splitlines()) > 2 and "Bun-Steinke," in out
    assert len(shown(capsys, monkeypatch, rows, list(rows[0])).splitlines()) == 2, "160 without a terminal"


def test_a_table_without_rows_is_its_heading(capsys, monkeypatch):
    assert shown(capsys, monkeypatch, [], ["claim", "verdict"], 80).split() == ["claim", "verdict"]
