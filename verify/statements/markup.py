"""Typst markup, looked at where it is written: what a compiler would refuse at sight is an error where it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from dpbounds import DomainError

# (whose text it is, which field, the text)
Text = tuple[str, str, str]

_FORMULA = r'\$(?:[^$"\\]|\\.|"(?:[^"\\]|\\.)*+")*+\$'
_WHOLE = re.compile(rf"(?:[^$\\`]|\\.|`[^`]*+`|{_FORMULA})*+", re.DOTALL)
_PART = re.compile(rf"\\.|`[^`]*+`|({_FORMULA})", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
# Typst code, wherever it stands (a sign behind one backslash is a character), and functions that formulas reach by way
# of the standard library: they would read files, load packages and run without end where the text is set.
_CODE = re.compile(r"(?<!\\)(?:\\\\)*#|std\.\w")
_COMMAND = re.compile(r"\\[A-Za-z]{2,}")
_DANGLING = re.compile(r"[_^]\s*\$")
# In a formula: texts and escaped signs, which are passed over, and brackets, some of them of a call.
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|\\.|(?P<open>(?P<call>[A-Za-z]{2,})?[(\[{])|(?P<close>[)\]}])')
_ALL_AT_ONCE = b'#for text in json(bytes(sys.inputs.texts)) { eval(text, mode: "markup"); parbreak() }'


def check_markup(name: str, text: str) -> None:
    """Raise `DomainError` for a text that is not Typst markup, as far as a glance tells: dollar signs that do not pair,
    a call that is not closed, an index or exponent without one, commands of LaTeX, characters that control a terminal,
    and code of Typst: a text is no program.
    """
    allowed = "Typst markup"
    if _CONTROL.search(text):
        remedy = "a backslash is written twice in a Python string, or once in a raw one"
        raise DomainError(name, text, f"{allowed} without control characters", remedy)
    if _CODE.search(text):
        raise DomainError(name, text, f"{allowed} without code", "a number sign of its own is \\#")
    if not _WHOLE.fullmatch(text):
        remedy = "close every formula and raw text; a dollar sign of its own is \\$"
        raise DomainError(name, text, f"{allowed} with dollar signs and backticks in pairs", remedy)
    for formula in (found[1] for found in _PART.finditer(text) if found[1]):
        command = _COMMAND.search(re.sub(r'"[^"]*"', "", formula))
        if command:
            remedy = "write names without a backslash: alpha, frac(a, b), sqrt(x)"
            raise DomainError(name, formula, f"{allowed}, in which {command[0]} is unknown", remedy)
        if _DANGLING.search(formula):
            raise DomainError(name, formula, f"{allowed} with something after each _ and ^", "or escape it: \\_")
        unclosed = _unclosed(formula)
        if unclosed:
            raise DomainError(name, formula, f"{allowed} with closed brackets", f"close {unclosed}(")


def check_compiled(texts: Sequence[Text]) -> None:
    """Raise `DomainError` naming the first text that Typst does not compile."""
    import typst

    def compiled(some: Iterable[Text]) -> str:
        sources = {"texts": json.dumps([text for _, _, text in some])}
        try:
            typst.compile(_ALL_AT_ONCE, ignore_system_fonts=True, sys_inputs=sources)
        except typst.TypstError as error:
            return str(error)
        return ""

    if compiled(texts):
        for text in texts:
            reason = compiled([text])
            if reason:
                raise DomainError(f"{text[1]} of {text[0]}", text[2], "Typst markup", f"Typst says: {reason}")


def _unclosed(formula: str) -> str:
    """The name of a call whose bracket is not closed, "" if there is none; intervals such as (0, 1] close too."""
    if formula.count("(") <= formula.count(")"):
        return ""
    calls: list[str] = []
    for found in _BRACKET.finditer(formula):
        if found["open"]:
            calls.append(found["call"] or "")
        elif found["close"] and calls:
            calls.pop()
    return next((call for call in calls if call), "")
