"""Plain text and numbers as they are set: Greek letters, powers of ten, minus signs; nothing here is markup."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reports.results import as_number

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "eta": "η",
    "theta": "θ",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "nu": "ν",
    "xi": "ξ",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "phi": "φ",
    "psi": "ψ",
    "omega": "ω",
}
MINUS = "−"
SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", " - ": f" {MINUS} "}
_LETTER = re.compile(rf"(?<![A-Za-z_])({'|'.join(GREEK)})(?![A-Za-z])")
_SIGN = re.compile("|".join(map(re.escape, SIGNS)))
_NEGATIVE = re.compile(r"(?:(?<=[\s(\[,=])|^)-(?=[^\s-])")
_POWER = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?)e([+-]?)0*([0-9]{1,3})(?!\w)")
_INDEX = re.compile(r"(?<![A-Za-zα-ω])([A-Za-zα-ω]\*?)_([0-9]+)(?![\w.])")
_EXPONENT = re.compile(r"\^(-?[0-9]+)(?![\w.])")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
# Characters that no font shows and that XML does not allow.
_UNPRINTABLE = ("Cc", "Cs", "Cn", "Co")
# Parts of a counterexample that come after the parameters.
SIDES = ("left", "right", "smaller", "larger", "claimed", "predicted", "observed", "exact", "low", "high")
FINDINGS = (*SIDES, "difference", "tolerance", "trials", "trace")
NARROW_SPACE = "\u202f"


def printable(text: str) -> str:
    """The same text with a replacement character for every one that cannot be printed."""
    unprintable = (character not in "\n\t" and unicodedata.category(character) in _UNPRINTABLE for character in text)
    return "".join("\ufffd" if bad else character for bad, character in zip(unprintable, text, strict=True))


def plain(text: str) -> str:
    """Printable text on one line."""
    return " ".join(printable(text).split())


def typographic(text: str) -> str:
    """Text of a results file for print, on one line: names of Greek letters become letters, 1e-09 a power of ten, x_1
    and x^2 get their index and exponent.
    """
    greek = _LETTER.sub(lambda found: GREEK[found[1]], plain(text))
    lowered = _INDEX.sub(lambda found: found[1] + found[2].translate(_SUBSCRIPTS), greek)
    raised = _EXPONENT.sub(lambda found: found[1].translate(_SUPERSCRIPTS), lowered)
    signs = _NEGATIVE.sub(MINUS, _SIGN.sub(lambda found: SIGNS[found[0]], raised))
    return _POWER.sub(lambda found: _power(found[1], found[2] + found[3]), signs)


def number(value: float | None, digits: int = 4) -> str:
    """A number to some significant digits, whole numbers in groups of three; a dash for none."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "∞" if value > 0 else f"{MINUS}∞"
    sign = MINUS if value < 0 else ""
    if value == int(value) and abs(value) < 1e9:
        return sign + f"{abs(int(value)):,}".replace(",", NARROW_SPACE)
    mantissa, _, exponent = f"{abs(value):.{digits}g}".partition("e")
    return sign + (_power(mantissa, exponent) if exponent else mantissa)


def fixed(value: float, decimals: int = 3) -> str:
    """A number to some decimals, so that a column of them lines up."""
    return f"{value:.{decimals}f}".replace("-", MINUS) if math.isfinite(value) else number(value)


def power_of_ten(value: float) -> str:
    """The power of ten nearest to a positive number."""
    return _ten_to(round(math.log10(value)))


def facts(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A counterexample as (name, value) pairs, with as many digits as tell its numbers apart, parameters
    before what was found there.
    """
    shown = {key: value for key, value in content.items() if not _says_nothing(key, value)}
    floats = {value for value in _numbers(shown) if math.isfinite(value)}
    digits = next((d for d in (6, 9, 12) if len({f"{value:.{d}g}" for value in floats}) == len(floats)), 17)
    ordered = sorted(shown, key=lambda key: FINDINGS.index(key) if key in FINDINGS else -1)
    return [(typographic(key.replace("_", " ")), _fact(shown[key], digits)) for key in ordered]


def _says_nothing(key: str, value: Any) -> bool:
    """The outcome repeats the verdict; a case that belongs to no curve has no group and no abscissa."""
    return key == "outcome" or value in ("", None) or (key == "x" and value == "nan")


def _fact(value: Any, digits: int) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{typographic(str(key))} = {_fact(item, digits)}" for key, item in value.items())
    if isinstance(value, list):
        return _sequence(value, digits)
    if isinstance(value, bool):
        return "yes" if value else "no"
    size = as_number(value)
    return typographic(str(value)) if size is None else number(size, digits)


def _sequence(values: Sequence[Any], digits: int) -> str:
    """All of a short list, the ends of a long one."""
    if values and isinstance(values[0], Mapping):
        return "; ".join(_fact(value, digits) for value in values)
    if len(values) <= 6:
        return f"({', '.join(_fact(value, digits) for value in values)})"
    ends = [_fact(value, digits) for value in (*values[:2], *values[-2:])]
    return f"({ends[0]}, {ends[1]}, …, {ends[2]}, {ends[3]}), {len(values)} entries"


def _numbers(content: Any) -> Iterator[float]:
    if isinstance(content, (Mapping, list)):
        for value in content.values() if isinstance(content, Mapping) else content:
            yield from _numbers(value)
    elif (size := as_number(content)) is not None:
        yield size


def _power(mantissa: str, exponent: str) -> str:
    power = _ten_to(int(exponent))
    if float(mantissa) == 0.0:
        return "0"
    return power if mantissa == "1" else f"{mantissa}{NARROW_SPACE}×{NARROW_SPACE}{power}"


def _ten_to(exponent: int) -> str:
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"
