"""Formulas in MathML, as Typst writes them, as LaTeX that amsmath and MathJax read; texts with formulas too."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import unescape
from xml.etree import ElementTree

from reports.text import GREEK

_FORMULA = re.compile(r"<math([^>]*)>(.*?)</math>", re.DOTALL)
_SIGNS = {
    "−": "-", "∗": "*", "⋅": r"\cdot", "·": r"\cdot", "×": r"\times", "±": r"\pm", "∓": r"\mp", "⊗": r"\otimes",
    "⊕": r"\oplus", "∘": r"\circ", "⋆": r"\star", "÷": r"\div", "∩": r"\cap", "∪": r"\cup", "∖": r"\setminus",
    "⋂": r"\bigcap", "⋃": r"\bigcup", "∧": r"\wedge", "∨": r"\vee", "¬": r"\neg", "∑": r"\sum", "∏": r"\prod",
    "∫": r"\int", "√": r"\surd", "∂": r"\partial", "∇": r"\nabla", "∞": r"\infty", "ℓ": r"\ell", "𝓁": r"\ell",
    "ħ": r"\hbar", "∅": r"\emptyset", "∀": r"\forall", "∃": r"\exists", "⊤": r"\top", "⊥": r"\perp",
    "†": r"\dagger", "□": r"\square", "°": r"^{\circ}", "…": r"\dots", "⋯": r"\cdots", "⋮": r"\vdots",
    "⋱": r"\ddots", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "≪": r"\ll", "≫": r"\gg", "≲": r"\lesssim",
    "≳": r"\gtrsim", "≈": r"\approx", "≃": r"\simeq", "≅": r"\cong", "≍": r"\asymp", "≡": r"\equiv", "∝": r"\propto",
    "∼": r"\sim", "≔": r"\coloneqq", "≺": r"\prec", "≻": r"\succ", "⪯": r"\preceq", "⪰": r"\succeq", "∈": r"\in",
    "∉": r"\notin", "⊂": r"\subset", "⊆": r"\subseteq", "⊃": r"\supset", "⊇": r"\supseteq", "∣": r"\mid",
    "∥": r"\parallel", "→": r"\to", "←": r"\leftarrow", "↔": r"\leftrightarrow", "⇒": r"\Rightarrow",
    "⇐": r"\Leftarrow", "⇔": r"\Leftrightarrow", "⟺": r"\iff", "⟹": r"\implies", "↦": r"\mapsto", "↑": r"\uparrow",
    "↓": r"\downarrow", "⟶": r"\longrightarrow", "⟨": r"\langle", "⟩": r"\rangle", "⌈": r"\lceil", "⌉": r"\rceil",
    "⌊": r"\lfloor", "⌋": r"\rfloor", "‖": r"\|", "{": r"\{", "}": r"\}", "%": r"\%", "#": r"\#", "&": r"\&",
    "$": r"\$", "_": r"\_", "\\": r"\backslash", "~": r"\sim", "^": r"\hat{}", "ϕ": r"\phi", "φ": r"\varphi",
    "ε": r"\varepsilon", "ϵ": r"\epsilon", "′": "'", "″": "''", "‴": "'''", "⁗": "''''", " ": " ", "\xa0": "~",
}  # fmt: skip
_ACCENTS = {
    "\u0302": "hat", "^": "hat", "\u0303": "tilde", "~": "tilde", "\u0304": "bar", "¯": "bar", "\u0305": "overline",
    "‾": "overline", "\u0307": "dot", "\u0308": "ddot", "\u20d7": "vec", "→": "vec", "\u030c": "check",
    "\u0306": "breve", "\u0332": "underline", "_": "underline", "⏟": "underbrace", "⏞": "overbrace",
}  # fmt: skip
_WIDE = {"hat": "widehat", "tilde": "widetilde", "bar": "overline"}
_FUNCTION = re.compile("arg|cosh?|cot|det|dim|exp|gcd|inf|ker|lim(inf|sup)?|ln|log|max|min|Pr|sinh?|sup|tanh?")
# Alphabets of mathematics, by what Unicode calls their letters.
_ALPHABETS = {"DOUBLE-STRUCK": "mathbb", "SCRIPT": "mathcal", "BOLD SCRIPT": "mathcal", "FRAKTUR": "mathfrak"}
_ALPHABETS |= {"BOLD": "mathbf", "BOLD ITALIC": "boldsymbol", "SANS-SERIF": "mathsf", "MONOSPACE": "mathtt"}
_NAME = re.compile(r"(?:MATHEMATICAL )?(.*?) ?(?:CAPITAL|SMALL|DIGIT) ")
_OPENING, _CLOSING = "([{⟨⌈⌊|‖", ")]}⟩⌉⌋|‖"
# What makes a formula higher than a line.
_HIGH = re.compile(r"\\(frac|sqrt|sum|prod|int|begin|atop)|\^\{.*\^")
# Letters that choose a form of the sign before them, and what is read and not seen.
_UNSEEN = dict.fromkeys(map(ord, "\ufe00\ufe01\u2061\u2062\u2063\u2064\u200b"), "")
_ESCAPES = {char: f"\\{char}" for char in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}"}
_ESCAPES |= {"^": r"\textasciicircum{}"}
_TAGS = {"strong": "textbf", "em": "emph", "code": "texttt"}
_TAG = re.compile(r"<(/?)(\w+)[^>]*>")


def latex(formula: str) -> str:
    """The LaTeX of one `<math>` element."""
    return _row(list(ElementTree.fromstring(formula))).strip()


def annotated(html: str) -> str:
    """The same page, each of its formulas with its LaTeX, which is not shown: MathML's place for it."""

    def semantics(found: re.Match[str]) -> str:
        said = latex(found[0]).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        said = f'<annotation encoding="application/x-tex"> {said} </annotation>'
        return f"<math{found[1]}><semantics><mrow>{found[2]}</mrow>{said}</semantics></math>"

    return _FORMULA.sub(semantics, html)


def text(html: str) -> str:
    """A text with annotated formulas as LaTeX."""
    parts, end = [], 0
    for found in _FORMULA.finditer(html):
        inside = unescape(found[2].rpartition("</annotation>")[0].rpartition(">")[2]).strip()
        mark = "$$" if "block" in found[1] else "$"
        parts += [_prose(html[end : found.start()]), f"{mark}{inside}{mark}"]
        end = found.end()
    return "".join([*parts, _prose(html[end:])]).strip()


def _prose(html: str) -> str:
    parts, end = [], 0
    for tag in _TAG.finditer(html):
        parts.append(_escaped(html[end : tag.start()]))
        if tag[2] in _TAGS:
            parts.append("}" if tag[1] else f"\\{_TAGS[tag[2]]}{{")
        elif tag[2] in ("p", "li") and tag[1]:
            parts.append("\n\n")
        end = tag.end()
    return "".join([*parts, _escaped(html[end:])])


def _escaped(html: str) -> str:
    return "".join(_ESCAPES.get(char, char) for char in re.sub(r"\s+", " ", unescape(html)))


# --- elements ---


def _row(elements: Sequence[ElementTree.Element]) -> str:
    """One after the other; brackets around what is higher than a line grow."""
    parts = [_of(element) for element in elements]
    if len(elements) > 1 and elements[0].tag == "mo" and (elements[0].text or "") in _OPENING:
        closed = elements[-1].tag == "mo" and (elements[-1].text or "") in _CLOSING
        inside = _joined(parts[1:-1] if closed else parts[1:])
        if _HIGH.search(inside) and (closed or parts[0] == r"\{"):
            return _joined([rf"\left{parts[0]}", inside, rf"\right{parts[-1] if closed else '.'}"])
    return _joined(parts)


def _joined(parts: Sequence[str]) -> str:
    """With a space where a command would run into a letter."""
    said = ""
    for part in parts:
        gap = re.search(r"\\[A-Za-z]+$", said) and re.match(r"[A-Za-z]", part)
        said += f" {part}" if gap else part
    return said


def _of(element: ElementTree.Element) -> str:
    inside = list(element)
    match element.tag:
        case "mi" | "mn" | "mo":
            return _sign(element)
        case "mtext":
            return rf"\text{{{_escaped(element.text or '')}}}"
        case "mspace":
            return _space(element.get("width", ""))
        case "mfrac" if element.get("linethickness") == "0":
            return rf"{{{_of(inside[0])} \atop {_of(inside[1])}}}"
        case "mfrac":
            return rf"\frac{{{_of(inside[0])}}}{{{_of(inside[1])}}}"
        case "msqrt":
            return rf"\sqrt{{{_row(inside)}}}"
        case "mroot":
            return rf"\sqrt[{_of(inside[1])}]{{{_of(inside[0])}}}"
        case "msub" | "munder" | "msup" | "mover" | "msubsup" | "munderover":
            return _scripts(element.tag, inside)
        case "mtable":
            return r"\begin{matrix}" + r" \\ ".join(map(_of, inside)) + r"\end{matrix}"
        case "mtr":
            return " & ".join(map(_of, inside))
        case _:
            return _row(inside)


def _scripts(tag: str, inside: Sequence[ElementTree.Element]) -> str:
    """What stands above and below; an accent is a command of its own."""
    accent = _ACCENTS.get((inside[1].text or "").strip()) if tag in ("mover", "munder") else None
    base = _of(inside[0])
    if accent:
        single = len(inside[0]) == 0 and len(inside[0].text or "") == 1
        return rf"\{accent if single else _WIDE.get(accent, accent)}{{{base}}}"
    if not re.fullmatch(r"\\[A-Za-z]+|\d+|.|\\[a-z]+\{[^{}]*\}", base):
        base = f"{{{base}}}"
    below = _of(inside[1]).strip() if tag.startswith(("msub", "munder")) else ""
    above = _of(inside[-1]).strip() if tag.endswith(("sup", "over")) else ""
    raised = above if above and not above.strip("'") else f"^{_group(above)}" if above else ""
    return base + (f"_{_group(below)}" if below else "") + raised


def _group(script: str) -> str:
    return script if len(script) == 1 else f"{{{script}}}"


def _space(width: str) -> str:
    size = float(width.removesuffix("em") or 0)
    return r"\quad " if size >= 1 else r"\ " if size > 0.2 else r"\, "


def _sign(element: ElementTree.Element) -> str:
    """A letter, a number, a sign or the name of a function; relations stand between spaces."""
    said = (element.text or "").translate(_UNSEEN).strip()
    if _FUNCTION.fullmatch(said):
        return f"\\{said}"
    if len(said) > 1 and said.isascii() and not said.isdigit() and element.tag != "mn":
        return rf"\operatorname{{{said.replace(' ', chr(92) + ' ')}}}"
    found = "".join(map(_letter, said))
    if element.tag == "mi" and element.get("mathvariant") == "normal" and re.fullmatch("[A-Za-z]", found):
        return rf"\mathrm{{{found}}}"
    relation = len(said) == 1 and element.tag == "mo" and unicodedata.category(said) == "Sm" and said not in "−+|‖∑∏∫/"
    return f" {found} " if relation else found


def _letter(char: str) -> str:
    if char in _SIGNS:
        return _SIGNS[char]
    plain = unicodedata.normalize("NFKC", char)
    named = _NAME.match(unicodedata.name(char, ""))
    alphabet = _ALPHABETS.get(named[1]) if named and plain != char else None
    plain = _greek(plain)
    return rf"\{alphabet}{{{plain}}}" if alphabet else plain


def _greek(char: str) -> str:
    if char in _SIGNS:
        return _SIGNS[char]
    names = {letter: name for name, letter in GREEK.items() if name not in ("epsilon", "phi")}
    if char in names:
        return f"\\{names[char]}"
    name = unicodedata.name(char, "")
    if name.startswith("GREEK CAPITAL LETTER "):
        own = name.rpartition(" ")[2].title().replace("Lamda", "Lambda")
        looks = {"Alpha": "A", "Beta": "B", "Epsilon": "E", "Zeta": "Z", "Eta": "H", "Iota": "I", "Kappa": "K"}
        looks |= {"Mu": "M", "Nu": "N", "Omicron": "O", "Rho": "P", "Tau": "T", "Chi": "X"}
        return looks.get(own, f"\\{own}")
    return char
