"""What a topic's room tells the report about its paper: the title, and which claims are panels of which figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel of a figure: the claim whose pictures it shows, and its title."""

    claim: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the paper, its panels from left to right."""

    name: str
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The paper behind a topic."""

    title: str
    citation: str = ""
    figures: tuple[Figure, ...] = ()
