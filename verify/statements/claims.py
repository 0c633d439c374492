"""What a claim is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from dpbounds import DomainError
from verify.checks.base import LEVELS, Check, Level
from verify.statements.clauses import Form, Statement, check_clauses, whole
from verify.statements.derivations import Derivation, check_derivation
from verify.statements.markup import check_markup
from verify.statements.numerals import check_typed
from verify.statements.wording import check_placeholders, formula, sample

Kind = Literal["identity", "inequality", "number", "mc-equality", "mc-rate", "privacy", "algorithm"]
Word = Literal["confirmed", "refuted", "corrected", "undecided", "not run"]
Severity = Literal["substantive", "hypothesis", "slip"]
Touches = Literal["statement", "proof", "figure", "text"]

# The environment variable that names the folder of the user's own data sets, as --data-dir does.
DATA_DIR = "DPBOUNDS_DATA_DIR"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is wrong with a statement as printed.

    - `severity`: `substantive` (a guarantee, rate or conclusion that readers rely on is wrong), `hypothesis` (one is
      missing, or a constant is wrong with consequences) or `slip` (repaired at sight); `touches`: what it stands in.
    - `finding`: one sentence of mathematics (Typst markup): what is printed, what is true, by how much, in the mildest
      setting in which it shows. `{name}`, inside dollar signs, is a number of the counterexample of the printed check
      number `exhibit`, or one that the claim has; `{name:2}` has two digits.
    - `consequence`: what falls with it, and what stands all the same.
    - `root`: the claim whose fault this one inherits, if any.
    """

    severity: Severity
    touches: Touches
    finding: str
    consequence: str
    root: str = ""
    exhibit: int = 0


@dataclass(frozen=True, kw_only=True)
class Correction:
    """The whole statement that is true instead, clause by clause, why (`ground`, a sentence), and the checks that show
    it; both texts may have `{name}`. `derivation` as for a claim.
    """

    statement: Statement
    checks: tuple[Check, ...]
    ground: str = ""
    derivation: Derivation | None = None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One numbered statement of a paper.

    - `where` is its place as the paper names it, `page` and `equation` where to look (the page of the PDF, 0 where the
      text has no pages; both 0 and "" for what is not in the paper).
    - `statement` and `hypotheses` are the paper's, the first as its clauses where it says several things; `setting` is
      what we had to choose to test it; `remark` what a fair reading had to supply. All texts are Typst markup,
      mathematics between dollar signs.
    - Numbers in what we say of it are computed: `{name}` in `remark`, fault and correction is a number of the evidence
      (`Evidence.numbers`) or of `given`, constants of the code by name. What is printed in the statement, small whole
      numbers, exponents and references may be typed; any other number there is refused (`verify.statements.numerals`).
    - `derivation` joins the proofs among its checks to the statement; the others are then controls.
    - `fault` says what is wrong with it, `correction` what is true instead; `not_run` why there is no check, `open` why
      it cannot be decided. From these follows `reviewed`, the verdict a person last agreed with: a run that finds
      another exits with status 1.
    - `user_data` loads what its checks read of the user's own data, raises `DomainError` for data that will not do, and
      returns a digest: results on other data are other results. `missing` says which data or extra it needs and does
      not find, "" if all is there: without, it is not run.
    """

    id: str
    where: str
    kind: Kind
    statement: Statement
    page: int = 0
    equation: str = ""
    hypotheses: str = ""
    setting: str = ""
    remark: str = ""
    checks: tuple[Check, ...] = ()
    derivation: Derivation | None = None
    fault: Fault | None = None
    correction: Correction | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    not_run: str = ""
    open: str = ""
    user_data: Callable[[], str] = str
    missing: Callable[[], str] = str

    def __post_init__(self) -> None:
        """Raise `DomainError`, naming the claim and the field, for what would fail when it is decided or printed."""
        _check_choice(f"kind of {self.id}", self.kind, get_args(Kind))
        if bool(self.checks) == bool(self.not_run):
            raise DomainError(f"checks of {self.id}", self.checks, "either checks or the reason why there are none")
        if self.correction is not None and self.fault is None:
            raise DomainError(f"fault of {self.id}", None, "given where there is a correction", "say what is wrong")
        if self.fault is not None:
            self._check_fault(self.fault)
        for name, text in self.templates().items():
            check_placeholders(f"{name} of {self.id}", text, self._known(name))
            check_typed(f"{name} of {self.id}", text, *self.printed)
        for name, text in self.texts().items():
            check_markup(f"{name} of {self.id}", text)
        check_clauses(f"statement of {self.id}", self.statement, self.checks)
        check_derivation(f"statement of {self.id}", self.derivation, self.checks)
        if self.correction is not None:
            check_clauses(f"correction of {self.id}", self.correction.statement, self.correction.checks)
            check_derivation(f"correction of {self.id}", self.correction.derivation, self.correction.checks)
        for form, checks in self.forms():
            for number, check in enumerate(checks):
                check.validate(f"check {number} of {self.id} as {form}")

    def _check_fault(self, fault: Fault) -> None:
        if not (self.page or self.equation):
            remedy = "say where to look: a page, or the equation, theorem, table in a text without pages"
            raise DomainError(f"page of {self.id}", self.page, "given where a fault is found", remedy)
        _check_choice(f"severity of {self.id}", fault.severity, get_args(Severity))
        _check_choice(f"touches of {self.id}", fault.touches, get_args(Touches))
        for name in ("finding", "consequence"):
            if not getattr(fault, name).strip():
                raise DomainError(f"{name} of {self.id}", getattr(fault, name), "a sentence")
        if self.checks and not 0 <= fault.exhibit < len(self.checks):
            raise DomainError(
                f"exhibit of {self.id}", fault.exhibit, f"the number of a check, below {len(self.checks)}"
            )

    def _known(self, name: str) -> Collection[str] | None:
        """The names that a text may use, None where only a run tells."""
        if name != "finding" or self.fault is None or not self.checks:
            return None
        names = self.checks[self.fault.exhibit].counterexample_names()
        return None if names is None else [*names, *self.given]

    def templates(self) -> dict[str, str]:
        """The texts in which numbers of the evidence stand at their placeholders, by field."""
        texts = {"remark": self.remark}
        if self.fault is not None:
            texts |= {"finding": self.fault.finding, "consequence": self.fault.consequence}
        if self.correction is not None:
            texts |= {"correction": whole(self.correction.statement), "ground": self.correction.ground}
        return {name: text for name, text in texts.items() if text}

    def texts(self) -> dict[str, str]:
        """Every text of it that is Typst markup, by field, with a number at each placeholder."""
        texts = {"statement": self.stated}
        texts |= {name: getattr(self, name) for name in ("hypotheses", "setting", "not_run", "open")}
        texts |= {f"derivation as {form}": item.text for form, item in self.derivations().items()}
        texts |= {name: sample(text) for name, text in self.templates().items()}
        return {name: text for name, text in texts.items() if text}

    def derivations(self) -> dict[Form, Derivation]:
        """Of the statement and of the correction, where there are."""
        mended = self.correction.derivation if self.correction else None
        found: dict[Form, Derivation | None] = {"printed": self.derivation, "corrected": mended}
        return {form: item for form, item in found.items() if item is not None}

    @property
    def stated(self) -> str:
        """The statement, its clauses one after the other."""
        return whole(self.statement)

    @property
    def printed(self) -> tuple[str, ...]:
        """What the paper says: its numbers may be said again."""
        return self.stated, self.hypotheses, self.equation, self.where

    @property
    def constants(self) -> list[str]:
        """Texts with the numbers that need no run: what is printed, how it was tested, the correction, what is "
        "given."""
        mended = [whole(self.correction.statement), self.correction.ground] if self.correction else []
        said = [*self.printed, self.setting, self.remark, *mended]
        return [*said, *(formula(value) for value in self.given.values())]

    @property
    def topic(self) -> str:
        """The paper it belongs to."""
        return self.id.partition("/")[0]

    @property
    def reviewed(self) -> Word:
        """The verdict that its author expects."""
        if self.not_run:
            return "not run"
        if self.open:
            return "undecided"
        if self.fault is None:
            return "confirmed"
        return "corrected" if self.correction else "refuted"

    @property
    def level(self) -> Level:
        """The lowest level at which some check of it runs."""
        return LEVELS[min((LEVELS.index(check.level) for check in self.checks), default=-1)]

    def forms(self) -> Iterator[tuple[Form, tuple[Check, ...]]]:
        """The checks on the statement as printed, then those on its correction."""
        yield "printed", self.checks
        if self.correction is not None:
            yield "corrected", self.correction.checks


def _check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise DomainError(name, value, f"one of {', '.join(allowed)}")
