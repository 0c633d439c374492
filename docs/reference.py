"""Reference pages: public names from their docstrings, the command line from its parsers, file formats from schemas."""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers.python import PythonConsoleLexer

from docs.verdicts import Site
from verify.cli import parser
from verify.running.registry import topics

SCHEMAS = Path(__file__).with_name("schemas")
# The modules whose names users import, in the order of the pages.
MODULES = (
    *("dpbounds", "dpbounds.privacy", "dpbounds.private", "dpbounds.audit", "dpbounds.audit.testing"),
    *(f"dpbounds.ftrl.{name}" for name in ("correlations", "mean_estimation", "linear_regression", "strongly_convex")),
    *(f"dpbounds.ftrl.{name}" for name in ("methods", "design", "mechanisms", "finite_time")),
    *("dpbounds.iv", "dpbounds.iv.confidence", "dpbounds.ols", "dpbounds.glm", "dpbounds.glm.messages"),
    *("verify", "verify.checks"),
)
# Docstrings are plain: of Markdown they have lists, tables and code alone.
_PROSE = MarkdownIt("zero", {"html": False}).enable(["list", "table", "backticks"])
_EXAMPLE = ">>> "
# And what is printed bold.
_STRONG = re.compile(r"(?<![\w)*])(?<!<code>)\*\*(?=\w)([^*]+)(?<=[\w.,;)])\*\*(?![\w*])")
# Of defaults: the place of a function in memory, digits beyond the fourth, what is between the ends of a long list.
_PLACE = re.compile(r"<function (\w+) at 0x[0-9a-f]+>")
_DIGITS = re.compile(r"\d+\.\d{6,}")
_LIST = re.compile(r"\((-?[\d.]+), (?:-?[\d.]+, ){3,}(-?[\d.]+)\)")
# An annotation in quotes, as Python keeps it; a default that is a text keeps its own.
_ANNOTATION = re.compile(r"""(: |-> )(['"])(.*?)\2(?=, |\)| = |$)""")


def add_reference(site: Site) -> None:
    """All pages of the reference and the schemas to download."""
    modules = [module_of(importlib.import_module(name)) for name in MODULES]
    for module in modules:
        site.add(f"reference/{module['name']}", module["name"], "module", module=module, users=site.users)
    site.add("reference/names", "Public names", "names", modules=modules)
    site.add("reference/commands", "Command line", "commands", commands=list(commands()))
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(SCHEMAS.glob("*.json"))}
    site.add("reference/formats", "File formats", "formats", schemas=[_schema(*item) for item in schemas.items()])
    for name in schemas:
        site.files[f"schemas/{name}"] = (SCHEMAS / name).read_bytes()


def addresses() -> dict[str, str]:
    """Where the site has each module, public name and command; a name by where it is defined too, a class by its name
    alone, if no other has it.
    """
    found: dict[str, str] = {}
    alone: dict[str, set[tuple[Any, str]]] = {}
    for module in map(importlib.import_module, MODULES):
        page = f"reference/{module.__name__}.html"
        found[module.__name__] = page
        for name, value in public(module):
            found[f"{module.__name__}.{name}"] = f"{page}#{name}"
            found.setdefault(_home(value), f"{page}#{name}")
            if inspect.isclass(value):
                alone.setdefault(name, set()).add((value, f"{page}#{name}"))
    for name, places in alone.items():
        if len({value for value, _ in places}) == 1:
            found[name] = min(page for _, page in places)
    pages = {command["name"]: command["name"].replace(" ", "-") for command in commands()}
    return found | {name: f"reference/commands.html#{at}" for name, at in pages.items() if " " in name}


# --- names ---


def module_of(module: ModuleType) -> dict[str, Any]:
    """A module's own words and its public names."""
    names = [_name(name, value) for name, value in public(module)]
    examples = sum("&gt;&gt;&gt;" in item["doc"] or bool(item["example"]) for item in names)
    return {"name": module.__name__, "doc": prose(module), "names": names, "examples": examples}


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What the module hands on: its `__all__`, or what it defines; functions and classes, no modules, no constants."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    for name in getattr(module, "__all__", own):
        value = getattr(module, name)
        if not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
            yield name, value


def _home(value: Any) -> str:
    """Where a function or class is defined, as `docs.code` names it."""
    return f"{value.__module__}.{value.__qualname__}"


def _name(name: str, value: Any) -> dict[str, Any]:
    methods = vars(value).items() if inspect.isclass(value) else ()
    shown = [(key, getattr(item, "fget", item)) for key, item in methods if not key.startswith("_")]
    return {
        "name": name,
        "home": _home(value),
        "kind": "class" if inspect.isclass(value) else "function",
        "signature": _signature(value),
        "doc": prose(value),
        "example": example(name, value),
        "methods": [
            {"name": key, "signature": _signature(item), "doc": prose(item)}
            for key, item in shown
            if inspect.isfunction(item) and inspect.getdoc(item)
        ],
    }


def example(name: str, value: Any) -> Markup:
    """The examples of the module that defines the name, if they use it; the tests run them."""
    parts = (inspect.getdoc(sys.modules[value.__module__]) or "").split("\n\n")
    found = [part for part in parts if part.startswith(_EXAMPLE)]
    used = any(re.search(rf"\b{name}\b", part) for part in found)
    return Markup("".join(map(_highlighted, found))) if used else Markup()


def _signature(value: Any) -> str:
    try:
        said = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    said = _DIGITS.sub(lambda found: f"{float(found[0]):.4g}", _PLACE.sub(r"\1", said))
    return _ANNOTATION.sub(r"\1\3", re.sub(r"ForwardRef\((.*?)\)(?=[,)]| =)", r"\1", _LIST.sub(r"(\1, ..., \2)", said)))


def prose(value: Any) -> Markup:
    """A docstring as HTML: paragraphs, lists, code, and examples in colours."""
    parts = (inspect.getdoc(value) or "").split("\n\n")
    return Markup("".join(_highlighted(part) if part.startswith(_EXAMPLE) else _paragraph(part) for part in parts))


def _paragraph(part: str) -> str:
    return _STRONG.sub(r"<strong>\1</strong>", _PROSE.render(part))


def _highlighted(part: str) -> str:
    return highlight(part, PythonConsoleLexer(), HtmlFormatter())


# --- commands ---


def commands() -> Iterator[dict[str, Any]]:
    """Every command with its arguments, those of the topics too."""
    yield from _commands(parser(("solve", "design", *topics())))


def _commands(command: argparse.ArgumentParser, said: str = "") -> Iterator[dict[str, Any]]:
    subcommands = [item for item in command._actions if isinstance(item, argparse._SubParsersAction)]
    arguments = [item for item in command._actions if item not in subcommands and item.help is not argparse.SUPPRESS]
    yield {
        "name": command.prog,
        "description": command.description or said,
        "arguments": [_argument(command, item) for item in arguments if not isinstance(item, argparse._HelpAction)],
    }
    for item in subcommands:
        helps = {choice.dest: choice.help or "" for choice in item._choices_actions}
        for name, below in item.choices.items():
            yield from _commands(below, helps.get(name, ""))


def _argument(command: argparse.ArgumentParser, item: argparse.Action) -> dict[str, str]:
    formatter = command._get_formatter()
    named = ", ".join(item.option_strings) or str(item.metavar or item.dest)
    values = formatter._format_args(item, (item.dest.upper())) if item.option_strings and item.nargs != 0 else ""
    return {"name": f"{named} {values}".strip(), "help": formatter._expand_help(item) if item.help else ""}


# --- file formats ---


def _schema(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    fields = (schema["items"] if schema["type"] == "array" else schema)["properties"]
    about = {key: _field(field) for key, field in fields.items()}
    return {
        "name": name,
        "title": schema["title"],
        "description": Markup(_PROSE.renderInline(schema["description"])),
        "fields": about,
        "whole": schema,
    }


def _field(field: dict[str, Any]) -> Markup:
    """What a field is, in words where the schema has some."""
    if "enum" in field:
        return escape(", ".join(map(str, field["enum"])))
    types = field.get("type", "as defined below")
    said = types if isinstance(types, str) else " or ".join(types)
    return Markup(_PROSE.renderInline(str(field.get("description") or field.get("const") or said)))
