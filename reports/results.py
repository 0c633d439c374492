"""The results file as `dpbounds verify` writes it, and what it holds; `reports.reader` reads it.

A JSON object with `format` = "dpbounds-results/5", `checksum` (of all the rest), `versions` (name to version), `topics`
and `claims`. All text is plain; where there is a `typeset` beside it, that is the same text as Typst markup. Numbers
that JSON lacks are the strings "inf", "-inf", "nan".

A claim has

- `claim`, `topic`, `where`, `equation`, `kind`: strings; `page` of the paper, 0 for what is not in it;
- `statement`, `hypotheses`, `setting`, `correction`, `ground`, `derivation`, `finding`, `consequence`, `remark`: text,
  maybe empty, and all of them again in the object `typeset`;
- `verdict`: confirmed, refuted, corrected, undecided or not run; `reviewed`: the verdict last agreed with; `open`:
  whether its checks only map where it holds;
- `how`: proved, certified, certified at points, numeric, statistical or null;
- `slack`: bound / truth at its tightest, or null;
- `severity` (substantive, hypothesis, slip) and `touches` (statement, proof, figure, text), or null; `root`: a claim;
- `level`, `seed`, `code`: how it was run, `code` a hash of the sources;
- `clauses`: a list of objects with `form`, `letter`, `text`, `typeset`, `word` (holds, fails, unclear, not run, or
  open: no check decides it) and `how`; those of the statement, and of the correction where it holds;
- `evidence`: a list of objects with `form` (printed or corrected), `outcome` (holds, fails, unclear), `how`, `summary`,
  `slack`, `counterexample` (an object or null), `resolution`, `alpha`, `beta`, `trials`, `evaluations`, `needed`,
  `picture`, `clauses` (the letters of those that it decides), `role` (proof or control), `facts` (what was found to be
  so or not so, a line each) and `rows` (the single comparisons, objects of numbers and texts by name).

A picture is null or an object with the axis labels `x` and `y` (`typeset` has both), `log` (which of "x", "y" are
logarithmic), `series` and `slopes`. A series has `curve`, `typeset`, `role` (exact, approximate, upper, lower, printed
or simulated), the numbers `x` and `y`, and `low` and `high`, empty or the ends of the intervals. A slope has `curve`,
`typeset`, and the exponents `printed`, `exact` (on the same grid), `simulated` with its interval `low`, `high`.

A topic has `name`, `title`, `authors`, `venue`, `version`, `link`, `main_picture` (a claim), `stands` and `sharper`
(lists of `sentence`, `typeset`, `claims`), `figures` (`name`, `title`, `typeset`, `panels` of `claim`, `title`,
`typeset`), and `notation` (a list of `symbol`, `meaning`, both again in `typeset`).

Beside it `run.json` holds the `date`, the `machine` and the `seconds` of each claim; it may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMAT = "dpbounds-results/5"
RUN = "run.json"
VERDICTS = ("confirmed", "corrected", "refuted", "undecided", "not run")
GROUNDS = ("proved", "certified", "certified at points", "numeric", "statistical")
FORMS = ("printed", "corrected")
OUTCOMES = ("holds", "fails", "unclear")
CHECK_ROLES = ("proof", "control")
CLAUSE_WORDS = ("holds", "fails", "unclear", "not run", "open")
ROLES = ("exact", "approximate", "upper", "lower", "printed", "simulated")
LEVELS = ("quick", "full", "paper")
SEVERITIES = ("substantive", "hypothesis", "slip")
TOUCHES = ("statement", "proof", "figure", "text")
TEXTS = ("statement", "hypotheses", "setting", "correction", "ground", "derivation", "finding", "consequence", "remark")


class ReportError(ValueError):
    """A report that cannot be made: one line that names the file and what is wrong with it."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of a curve; `low` and `high` are empty or the ends of their intervals."""

    curve: str
    role: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    typeset: str = ""


@dataclass(frozen=True, kw_only=True)
class Slope:
    """Exponents of a power law: printed in the paper, exact on the grid of the picture, simulated with its interval."""

    curve: str
    printed: float
    exact: float
    simulated: float
    low: float
    high: float
    typeset: str = ""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """What one set of axes shows; `typeset` has the labels `x` and `y` as markup."""

    x: str
    y: str
    log: tuple[str, ...]
    series: tuple[Series, ...]
    slopes: tuple[Slope, ...] = ()
    typeset: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What one check found."""

    form: str
    outcome: str
    how: str
    summary: str
    slack: float | None
    counterexample: Mapping[str, Any] | None
    resolution: float | None
    alpha: float | None
    beta: float | None
    trials: int
    evaluations: int
    needed: str
    picture: Picture | None
    clauses: str
    role: str
    facts: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class Clause:
    """A piece of the statement or of its correction, and what its checks found."""

    form: str
    letter: str
    text: str
    typeset: str
    word: str
    how: str | None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One claim with its verdict and the evidence behind it."""

    claim: str
    topic: str
    where: str
    page: int
    equation: str
    kind: str
    statement: str
    hypotheses: str
    setting: str
    correction: str
    ground: str
    derivation: str
    finding: str
    consequence: str
    remark: str
    typeset: Mapping[str, str]
    verdict: str
    how: str | None
    slack: float | None
    severity: str | None
    touches: str | None
    root: str
    reviewed: str
    open: bool
    level: str
    seed: int
    code: str
    clauses: tuple[Clause, ...]
    evidence: tuple[Evidence, ...]
    proofs: tuple[str, ...] = ()  # names of files, not of the results file

    @property
    def open_clauses(self) -> tuple[Clause, ...]:
        """The clauses of what is confirmed, or of the correction that holds, that no check decides."""
        form = {"confirmed": "printed", "corrected": "corrected"}.get(self.verdict, "")
        return tuple(item for item in self.clauses if item.form == form and item.word == "open")


@dataclass(frozen=True, kw_only=True)
class Highlight:
    """A sentence (`typeset` as markup) that holds while each of its claims has the verdict it was reviewed with."""

    sentence: str
    typeset: str
    claims: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One panel of a figure: the claim whose pictures it shows, and its title."""

    claim: str
    title: str
    typeset: str


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the paper, its panels from left to right."""

    name: str
    title: str
    typeset: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A symbol of the paper and what it means; `typeset` has both as markup."""

    symbol: str
    meaning: str
    typeset: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Paper:
    """What a topic says of its paper."""

    name: str
    title: str
    authors: str
    venue: str
    version: str
    link: str
    main_picture: str
    stands: tuple[Highlight, ...]
    sharper: tuple[Highlight, ...]
    figures: tuple[Figure, ...]
    notation: tuple[Symbol, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Results:
    """A whole results file, or the part of it that is shown."""

    path: Path
    versions: Mapping[str, str]
    papers: tuple[Paper, ...]
    entries: tuple[Entry, ...]
    date: str = ""
    machine: str = ""
    names: tuple[str, ...] = ()

    def of(self, topic: str) -> list[Entry]:
        """The claims of one topic, in the order of the file."""
        return [entry for entry in self.entries if entry.topic == topic]
