"""What the report says first of a paper, and its figures, from the file `highlights.toml` beside the paper's TOPIC.

```toml
[[stands]]                  # or [[sharper]]
sentence = '''Theorem 1 with $C = 2$, and with no smaller one.'''
claims = ["mine/thm-1"]

[[figures]]
name = 'Figure 1'
title = 'Error against the number of records.'

[figures.panels]
"mine/fig-1-left" = 'Independent noise'

[notation]
'n' = 'number of records'
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpbounds import DomainError
from verify.statements.topics import Figure, Highlight, Panel

FILE = "highlights.toml"
LISTS = ("stands", "sharper", "figures", "notation")


def highlights(beside: Path) -> dict[str, Any]:
    """The arguments `stands`, `sharper`, `figures` and `notation` of a `Topic`, from the file beside this one; a line
    break in a sentence is a space. Raises `DomainError` where the file is not of that form.
    """
    path = beside.with_name(FILE)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        unknown = set(content) - set(LISTS)
        if unknown:
            raise KeyError(min(unknown))
        return {
            "stands": tuple(_highlight(entry) for entry in content.get("stands", ())),
            "sharper": tuple(_highlight(entry) for entry in content.get("sharper", ())),
            "figures": tuple(_figure(entry) for entry in content.get("figures", ())),
            "notation": tuple((symbol, _line(meaning)) for symbol, meaning in content.get("notation", {}).items()),
        }
    except (tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise DomainError(
            FILE, f"{path}: {error}", f"lists {', '.join(LISTS)} as `verify.statements.highlights` says"
        ) from error


def _highlight(entry: Mapping[str, Any]) -> Highlight:
    return Highlight(sentence=_line(entry["sentence"]), claims=tuple(entry["claims"]))


def _figure(entry: Mapping[str, Any]) -> Figure:
    panels = tuple(Panel(claim=claim, title=title) for claim, title in entry["panels"].items())
    return Figure(name=entry["name"], title=_line(entry["title"]), panels=panels)


def _line(text: str) -> str:
    return " ".join(text.split())
