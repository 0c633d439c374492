"""Completion of the command line by the Tab key, in bash, zsh and fish: commands, options, topics and claim ids.

The shell sets `_ARGCOMPLETE` and the line so far; argcomplete answers it and ends the process.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

import argcomplete

from dpbounds import DomainError
from verify.cli import parser


def complete() -> None:
    """Answer the shell."""
    try:
        top = parser(os.environ.get("COMP_LINE", "").split())
    except DomainError:  # a topic that cannot be loaded
        top = parser()
    for action in _actions(top):
        if action.dest in ("names", "topic"):
            vars(action)["completer"] = names  # argcomplete looks for the attribute
    argcomplete.autocomplete(top)


def names(prefix: str, **_: object) -> list[str]:
    """Topics; after `TOPIC/` its claims."""
    from verify.running.registry import index_of, topics

    topic, slash, _own = prefix.partition("/")
    if not slash:
        return [*topics(), *(f"{name}/" for name in topics())]
    return list(index_of(topic)) if topic in topics() else []


def _actions(command: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Those of the command and of all its subcommands."""
    for action in command._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _actions(sub)
