"""Typst markup as plain Unicode text: what terminals and the results file show.

Formulas become Greek letters, signs, indices and exponents where Unicode has them, accents, norms and roots; what no
character says is written as in a manuscript on a typewriter: `x_max`, `e^(-x)`, `a/(b + c)`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

SYMBOLS: Mapping[str, str] = {
    # letters
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "epsilon.alt": "ϵ", "zeta": "ζ", "eta": "η",
    "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "omicron": "ο", "pi": "π",
    "rho": "ρ", "rho.alt": "ϱ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ", "phi.alt": "ϕ", "chi": "χ",
    "psi": "ψ", "omega": "ω", "Alpha": "Α", "Beta": "Β", "Gamma": "Γ", "Delta": "Δ", "Epsilon": "Ε", "Eta": "Η",
    "Theta": "Θ", "Upsilon": "Υ",
    "Kappa": "Κ", "Lambda": "Λ", "Mu": "Μ", "Nu": "Ν", "Xi": "Ξ", "Pi": "Π", "Rho": "Ρ", "Sigma": "Σ", "Tau": "Τ",
    "Phi": "Φ", "Chi": "Χ", "Psi": "Ψ", "Omega": "Ω", "ell": "ℓ", "aleph": "ℵ", "planck": "ħ", "Re": "Re", "Im": "Im",
    "dif": "d", "Dif": "D", "partial": "∂", "diff": "∂", "nabla": "∇", "gradient": "∇",
    # sums, sets, logic
    "sum": "∑", "product": "∏", "integral": "∫", "union": "∪", "inter": "∩", "without": "∖", "in": "∈",
    "in.not": "∉", "subset": "⊂", "subset.eq": "⊆", "supset": "⊃", "supset.eq": "⊇", "emptyset": "∅", "nothing": "∅",
    "forall": "∀", "exists": "∃", "and": "∧", "or": "∨", "not": "¬", "union.big": "⋃", "inter.big": "⋂",
    "oo": "∞", "infinity": "∞",
    # relations
    "eq": "=", "eq.not": "≠", "eq.def": "≝", "eq.triple": "≡", "equiv": "≡", "approx": "≈", "approx.eq": "≊",
    "prop": "∝", "tilde.op": "∼", "tilde.eq": "≃", "tilde.equiv": "≅", "asymp": "≍", "lt": "<", "gt": ">",
    "lt.eq": "≤", "gt.eq": "≥", "lt.double": "≪", "gt.double": "≫", "lt.tilde": "≲", "gt.tilde": "≳",
    "prec": "≺", "prec.eq": "⪯", "succ": "≻", "succ.eq": "⪰", "perp": "⊥", "parallel": "∥", "divides": "∣",
    "colon.eq": "≔", "bar.v": "|", "bar.v.double": "‖", "colon": ":", "comma": ",", "semi": ";", "excl": "!",
    # operations
    "times": "×", "times.o": "⊗", "times.circle": "⊗", "plus": "+", "minus": "−", "plus.minus": "±",
    "minus.plus": "∓", "plus.o": "⊕", "plus.circle": "⊕", "dot.c": "·", "dot.op": "·", "dot": "·", "ast": "∗",
    "ast.op": "∗", "star": "*", "star.op": "*", "compose": "∘", "div": "÷", "dots": "…", "dots.h": "…",
    "dots.c": "⋯", "dots.h.c": "⋯", "dots.v": "⋮", "dots.down": "⋱", "top": "⊤", "tack.t": "⊥", "dagger": "†",
    "prime": "′", "degree": "°", "square": "□", "bullet": "•", "hat": "^", "tilde": "∼", "bar": "|", "checkmark": "✓",
    # arrows, brackets, space
    "arrow": "→", "arrow.r": "→", "arrow.l": "←", "arrow.t": "↑", "arrow.b": "↓", "arrow.l.r": "↔",
    "arrow.r.double": "⇒", "arrow.l.double": "⇐", "arrow.l.r.double": "⇔", "arrow.r.bar": "↦", "arrow.tr": "↗",
    "arrow.br": "↘", "arrow.r.long": "⟶", "chevron.l": "⟨", "chevron.r": "⟩", "angle.l": "⟨", "angle.r": "⟩",
    "paren.l": "(", "paren.r": ")", "bracket.l": "[", "bracket.r": "]", "brace.l": "{", "brace.r": "}",
    "quad": " ", "wide": " ", "thin": " ", "med": " ", "thick": " ", "space": " ", "zws": "", "qed": "∎",
}  # fmt: skip
# Longest first: a part of one may be another.
SHORTHANDS: Mapping[str, str] = {
    "<==>": "⟺", "<-->": "⟷", "<=>": "⇔", "<->": "↔", "|->": "↦", "==>": "⟹", "-->": "⟶", "...": "…",
    "<<": "≪", ">>": "≫", "<=": "≤", ">=": "≥", "!=": "≠", ":=": "≔", "->": "→", "<-": "←", "=>": "⇒", "||": "‖",
    "-": "−", "~": "∼", "&": "",
}  # fmt: skip
ACCENTS: Mapping[str, str] = {
    "hat": "\u0302", "tilde": "\u0303", "bar": "\u0305", "macron": "\u0304", "overline": "\u0305",
    "underline": "\u0332", "dot": "\u0307", "dot.double": "\u0308", "diaer": "\u0308", "arrow": "\u20d7",
    "acute": "\u0301", "grave": "\u0300", "breve": "\u0306", "caron": "\u030c", "circle": "\u030a",
}  # fmt: skip
THROUGHOUT = ("overline", "underline")
FENCES: Mapping[str, tuple[str, str]] = {
    "abs": ("|", "|"), "norm": ("‖", "‖"), "floor": ("⌊", "⌋"), "ceil": ("⌈", "⌉"), "round": ("⌊", "⌉"),
    "vec": ("(", ")"), "mat": ("[", "]"), "cases": ("{", ""),
}  # fmt: skip
# Functions that change only how their first argument looks.
STYLES = (
    "op", "upright", "italic", "bold", "serif", "sans", "mono", "text", "lr", "mid", "limits", "scripts", "attach",
    "display", "inline", "script", "sscript", "underbrace", "overbrace", "underbracket", "overbracket", "cancel",
    "stretch", "class",
)  # fmt: skip
DOUBLE_STRUCK = dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True))
SCRIPT = dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True))
_SUBSCRIPTS = dict(zip("0123456789+−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
_SUPERSCRIPTS = dict(
    zip("0123456789+−=()abcdefghijklmnoprstuvwxyzT⊤′", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀᵀ′", strict=True)
)

_FORMULA = re.compile(r'(?<!\\)\$((?:[^$"\\]|\\.|"[^"]*")*)\$', re.DOTALL)
_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<escape>\\.)|(?P<number>\d+(?:\.\d+)?)"""
    r"""|(?P<word>[A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z]+)*)|(?P<prime>'+)|(?P<sign>"""
    + "|".join(map(re.escape, SHORTHANDS))
    + r""")|(?P<other>.)""",
    re.DOTALL,
)
# Where escaped characters wait while the others are read: a plane that nobody writes in.
_KEPT, _MOST = 0xF0000, 0xFFFE
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@cache
def plain(text: str) -> str:
    """Text with its formulas as a terminal shows them."""
    parts, end = [], 0
    for formula in _FORMULA.finditer(text):
        parts += [_prose(text[end : formula.start()]), _Formula(formula[1]).text()]
        end = formula.end()
    return "".join([*parts, _prose(text[end:])])


def _prose(text: str) -> str:
    """Markup outside formulas: emphasis, raw text and links lose their signs; raw text, what is escaped keep theirs."""
    text = re.sub(r"`([^`]*)`|\\(\S)", lambda found: _kept(found[1] or found[2] or ""), text)
    text = re.sub(r'#[a-z]+(?:\((?:[^()"]|"[^"]*")*\))?\[([^\]]*)\]', r"\1", text)
    text = re.sub(r"(?<!\w)([*_])(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", text)
    text = re.sub(r"~", " ", text)
    text = re.sub(r"(?<!-)---?(?!-)", "–", text)
    return "".join(chr(ord(char) - _KEPT) if _KEPT <= ord(char) < _KEPT + _MOST else char for char in text)


def _kept(text: str) -> str:
    return "".join(chr(_KEPT + ord(char)) if ord(char) < _MOST else char for char in text)


@dataclass(frozen=True)
class _Token:
    kind: str
    source: str


@dataclass(frozen=True)
class _Piece:
    """A part of a formula: its text, what it is (atom, word, group, space, or several) and, of a group, its inside."""

    text: str
    kind: str = "atom"
    inside: str = ""

    def bare(self) -> str:
        """Without the brackets that only held it together."""
        return self.inside if self.kind == "group" else self.text

    def tight(self) -> str:
        """As an operand of a fraction or a root, in brackets unless it is one thing."""
        inside = self.bare()
        return inside if _single(inside) else f"({inside})"


class _Formula:
    """A formula, read from left to right."""

    def __init__(self, source: str) -> None:
        self.tokens = [_Token(str(found.lastgroup), found[0]) for found in _TOKEN.finditer(source)]
        self.at = 0

    def text(self) -> str:
        parts = []
        while self.at < len(self.tokens):
            parts.append(self._sequence(()))
            if self.at < len(self.tokens):  # a closing bracket that nothing opened
                parts.append(self._take().source)
        return unicodedata.normalize("NFC", re.sub(r"\s+", " ", "".join(parts)).strip())

    def _peek(self, offset: int = 0) -> _Token:
        return self.tokens[self.at + offset] if self.at + offset < len(self.tokens) else _Token("end", "")

    def _take(self) -> _Token:
        token = self._peek()
        self.at += 1
        return token

    def _sequence(self, stops: Sequence[str]) -> str:
        """Pieces up to a closing bracket or one of the stops."""
        pieces: list[_Piece] = []
        while (token := self._peek()).kind != "end":
            if token.kind in ("other", "space") and token.source in (*stops, *_CLOSING.values()):
                break
            if token.kind == "other" and token.source == "/" and pieces:
                self._take()
                self._skip_space()
                while pieces[-1].kind == "space" and len(pieces) > 1:
                    pieces.pop()
                above, below = pieces.pop(), self._attached()
                pieces.append(_Piece(f"{above.tight()}/{below.tight()}", "fraction"))
            else:
                pieces.append(self._attached())
        return "".join(_standing(piece, pieces[index + 1 :]) for index, piece in enumerate(pieces))

    def _skip_space(self) -> None:
        while self._peek().kind == "space":
            self._take()

    def _attached(self) -> _Piece:
        """A piece with its primes, index and exponent."""
        piece = self._piece()
        if piece.kind == "space":
            return piece
        index = exponent = ""
        while True:
            token = self._peek()
            if token.kind == "prime":
                exponent += "′" * len(self._take().source)
            elif token.source in ("_", "^") and token.kind == "other":
                self._take()
                self._skip_space()
                operand = self._operand()
                if token.source == "_":
                    index = _low(operand)
                else:
                    exponent += _high(operand)
            else:
                break
        if not index and not exponent:
            return piece
        return _Piece(f"{piece.text}{index}{exponent}", "marked")

    def _operand(self) -> _Piece:
        """What an index or exponent takes: a piece, with a sign before it or brackets right behind a letter."""
        piece = self._piece()
        if piece.kind in ("atom", "word") and piece.text.isalpha() and self._peek().source == "(":
            return _Piece(piece.text + self._piece().text, "several")
        return piece

    def _piece(self) -> _Piece:
        token = self._take()
        source = token.source
        if token.kind == "space":
            return _Piece(" ", "space")
        if token.kind == "text":
            return _Piece(re.sub(r"\\(.)", r"\1", source[1:-1]), "word")
        if token.kind == "escape":
            return _Piece("" if source[1].isspace() else source[1])
        if token.kind == "number":
            return _Piece(source)
        if token.kind == "prime":
            return _Piece("′" * len(source))
        if token.kind == "sign":
            return _Piece(SHORTHANDS[source])
        if token.kind == "word":
            return self._word(source)
        if source in _CLOSING:
            inside = self._sequence(())
            close = self._take().source if self._peek().kind != "end" else ""
            return _Piece(f"{source}{inside}{close}", "group" if source == "(" else "atom", inside)
        return _Piece("∗" if source == "*" else source)

    def _word(self, name: str) -> _Piece:
        if len(name) == 1:
            return _Piece(name)
        if self._peek().source == "(" and (name in FUNCTIONS or name in FENCES or name in STYLES or name in ACCENTS):
            return self._call(name)
        if name in ("dif", "Dif"):  # stands close to what it measures
            self._skip_space()
        if name in SYMBOLS:
            return _Piece(SYMBOLS[name])
        if len(name) == 2 and name[0] == name[1] and name[0].isupper():
            return _Piece(_double_struck(name[0]))
        return _Piece(name, "word")

    def _call(self, name: str) -> _Piece:
        """A function whose arguments are set in its own way."""
        arguments = self._arguments()
        first = arguments[0] if arguments else ""
        if name in FENCES:
            left, right = FENCES[name]
            return _Piece(f"{left}{'; '.join(arguments) if name in ('mat', 'cases') else ', '.join(arguments)}{right}")
        if name in ACCENTS:
            return _Piece(_accented(first, ACCENTS[name], throughout=name in THROUGHOUT))
        if name in STYLES:
            return _Piece(arguments[-1] if name == "class" and arguments else first, "word" if name == "op" else "atom")
        return _Piece(FUNCTIONS[name](arguments), "fraction" if name == "frac" else "atom")

    def _arguments(self) -> list[str]:
        """Those without a name, each as text."""
        self._take()
        found, start = [], self.at
        while True:
            text = self._sequence((",", ";"))
            named = self._peek_named(start)
            if not named and (text.strip() or found):
                found.append(text.strip())
            closing = self._take()
            if closing.source == ")" or closing.kind == "end":
                return found
            start = self.at

    def _peek_named(self, start: int) -> bool:
        words = [token for token in self.tokens[start : self.at] if token.kind != "space"]
        return len(words) > 1 and words[0].kind == "word" and len(words[0].source) > 1 and words[1].source == ":"


_NAME = r"√?[^\W\d][\w\u0300-\u036f\u20d7*′∞^⁺⁻₊₋⁽⁾]*"
_SINGLE = re.compile(rf"√?[\d.]+|{_NAME}(\([^()]*\))?|√\([^()]*\)|[^\s]|[‖|⌊⌈(][^‖|⌊⌈()]*[‖|⌋⌉)]\w*")


def _single(text: str) -> bool:
    """Whether it reads as one thing without brackets: a number, a letter or a name with its marks, something fenced."""
    return bool(_SINGLE.fullmatch(text))


def _standing(piece: _Piece, others: Sequence[_Piece]) -> str:
    """A fraction in brackets where a factor follows: `(a/b) c`."""
    following = next((other for other in others if other.kind != "space"), None)
    factor = following is not None and re.match(r"[\w√‖|(∑∫∏]", following.text)
    return f"({piece.text})" if piece.kind == "fraction" and factor else piece.text


def _low(operand: _Piece) -> str:
    return _moved(operand, _SUBSCRIPTS, "_")


def _high(operand: _Piece) -> str:
    text = operand.bare()
    return "*" if text in ("*", "∗") else _moved(operand, _SUPERSCRIPTS, "^")


def _moved(operand: _Piece, characters: Mapping[str, str], sign: str) -> str:
    text = operand.bare()
    close = re.sub(r"\s+", "", text)
    if close and operand.kind != "word" and all(character in characters for character in close):
        return "".join(characters[character] for character in close)
    return f"{sign}{text}" if _single(text) else f"{sign}({text})"


def _accented(text: str, accent: str, *, throughout: bool) -> str:
    """The accent on the first character, or on each."""
    if not text:
        return ""
    if throughout:
        return "".join(char if char.isspace() or unicodedata.combining(char) else char + accent for char in text)
    return text[0] + accent + text[1:]


def _double_struck(letter: str) -> str:
    return DOUBLE_STRUCK.get(letter) or _shifted(letter, 0x1D538, 0x1D552)


def _shifted(letter: str, capitals: int, small: int) -> str:
    if "A" <= letter <= "Z":
        return chr(capitals + ord(letter) - ord("A"))
    return chr(small + ord(letter) - ord("a")) if "a" <= letter <= "z" else letter


def _fraction(arguments: Sequence[str]) -> str:
    return "/".join(argument if _single(argument) else f"({argument})" for argument in arguments)


def _root(arguments: Sequence[str]) -> str:
    *degree, inside = arguments or [""]
    raised = "".join(_SUPERSCRIPTS.get(character, character) for character in degree[0]) if degree else ""
    return f"{raised}√{inside}" if re.fullmatch(r"[^\W_][₀-₉ₐ-ₜᵢ-ᵪ]*|[0-9.]+", inside) else f"{raised}√({inside})"


def _letters(change: Callable[[str], str]) -> Callable[[Sequence[str]], str]:
    return lambda arguments: "".join(change(letter) for letter in "".join(arguments[:1]))


FUNCTIONS: Mapping[str, Callable[[Sequence[str]], str]] = {
    "frac": _fraction,
    "sqrt": lambda arguments: _root(arguments[:1]),
    "root": _root,
    "binom": lambda arguments: f"({' choose '.join(arguments)})",
    "bb": _letters(_double_struck),
    "cal": _letters(lambda letter: SCRIPT.get(letter) or _shifted(letter, 0x1D49C, 0x1D4B6)),
    "scr": _letters(lambda letter: SCRIPT.get(letter) or _shifted(letter, 0x1D49C, 0x1D4B6)),
    "frak": _letters(lambda letter: letter),
}
