"""Plain text and numbers as they are set: Greek letters, powers of ten, minus signs; nothing here is markup."""

from __future__ import annotations

import math
import re
import unicodedata

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "delta": "δ",
    "epsilon": "ε",
    "zeta": "ζ",
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
    "chi": "χ",
    "psi": "ψ",
    "omega": "ω",
    "varrho": "ϱ",
    "ell": "ℓ",
    "Theta": "Θ",
    "Lambda": "Λ",
    "Sigma": "Σ",
    "Phi": "Φ",
}
MINUS = "−"
SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", "->": "→", " - ": f" {MINUS} ", "**": "^", "||": "‖"}
_LETTER = re.compile(rf"(?:(?<![A-Za-z_])|(?<=\b[A-Za-z]_))({'|'.join(GREEK)})(?![A-Za-z])")
_INFINITY = re.compile(r"(?<![\w.])oo(?!\.?\w)|(?<== )inf(?!\w)|(?<=, )inf(?=[\])])")
_SIGN = re.compile("|".join(map(re.escape, SIGNS)))
_NEGATIVE = re.compile(r"(?:(?<=[\s(\[,=])|^)-(?=[^\s-])")
_POWER = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?)e([+-]?)0*([0-9]{1,3})(?!\w)")
_INDEX = re.compile(r"(?<![A-Za-zΑ-Ωα-ω])([A-Za-zΑ-Ωα-ω]\*?)_([0-9]+)(?![\w.])")
_EXPONENT = re.compile(r"\^(-?[0-9]+)(?![\w.])")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_ROOT = re.compile(r"\bsqrt(?=\()")
_BRACES = re.compile(r"\^\{([^{}]*)\}")
# Characters that no font shows and that XML does not allow.
_UNPRINTABLE = ("Cc", "Cs", "Cn", "Co")
NARROW_SPACE = "\u202f"


def printable(text: str) -> str:
    """The same text with a replacement character for every one that cannot be printed."""
    unprintable = (character not in "\n\t" and unicodedata.category(character) in _UNPRINTABLE for character in text)
    return "".join("\ufffd" if bad else character for bad, character in zip(unprintable, text, strict=True))


def one_line(text: str) -> str:
    """Printable text on one line."""
    return " ".join(printable(text).split())


def typographic(text: str) -> str:
    """Text of a results file for print, on one line: names of Greek letters become letters, 1e-09 a power of ten, x_1
    and x^2 get their index and exponent, oo and sqrt( their signs.
    """
    greek = _LETTER.sub(lambda found: GREEK[found[1]], one_line(text))
    roots = _ROOT.sub("√", _BRACES.sub(r"^(\1)", greek))
    signs = _SIGN.sub(lambda found: SIGNS[found[0]], _INFINITY.sub("∞", roots))
    lowered = _INDEX.sub(lambda found: found[1] + found[2].translate(_SUBSCRIPTS), signs)
    raised = _EXPONENT.sub(lambda found: found[1].translate(_SUPERSCRIPTS), lowered)
    return _POWER.sub(lambda found: _power(found[1], found[2] + found[3]), _NEGATIVE.sub(MINUS, raised))


def number(value: float | None, digits: int = 4) -> str:
    """A number to some significant digits, whole numbers in groups of three; a dash for none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    sign = MINUS if value < 0 else ""
    if value == int(value) and abs(value) < 1e9:
        return sign + f"{abs(int(value)):,}".replace(",", NARROW_SPACE)
    mantissa, _, exponent = f"{abs(value):.{digits}g}".partition("e")
    return sign + (_power(mantissa, exponent) if exponent else mantissa)


def short(value: float) -> str:
    """A positive number to three digits, with a power of ten."""
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return _power(f"{float(mantissa):g}", exponent)


def fixed(value: float, decimals: int = 3) -> str:
    """A number to some decimals, so that a column of them lines up."""
    return f"{value:.{decimals}f}".replace("-", MINUS) if math.isfinite(value) else number(value)


def power_of_ten(value: float) -> str:
    """The power of ten nearest to a positive number."""
    return _ten_to(round(math.log10(value)))


def counted(count: int, noun: str) -> str:
    """`1 claim`, `2 claims`."""
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"


def lookup_order(name: str) -> list[tuple[int, str]]:
    """The key by which names are sorted where one looks them up: `thm-2.9` before `thm-2.10`."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split("([0-9]+)", name)]


def _power(mantissa: str, exponent: str) -> str:
    power = _ten_to(int(exponent))
    if float(mantissa) == 0.0:
        return "0"
    return power if mantissa == "1" else f"{mantissa}{NARROW_SPACE}×{NARROW_SPACE}{power}"


def _ten_to(exponent: int) -> str:
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"
