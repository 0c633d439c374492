"""Typst markup as plain text: what a terminal shows of every text in the registry."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verify.running.registry import topics
from verify.statements.claims import Claim
from verify.statements.plain import plain
from verify.statements.topics import Topic
from verify.statements.wording import literal


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("$alpha_1 <= rho^2 != oo$", "α₁ ≤ ρ² ≠ ∞"),
        ("$EE norm(hat(theta)_t - theta_star)_H^2$", "𝔼 ‖θ̂ₜ − θ_*‖_H²"),
        ("$sqrt(a b)/(1 - beta)$", "√(a b)/(1 − β)"),
        ("$sqrt(rho_2) + sqrt(T)$", "√ρ₂ + √T"),
        ("$root(3, x)$", "³√x"),
        ("$sum_(k=1)^n x_k -> oo$", "∑ₖ₌₁ⁿ xₖ → ∞"),
        ("$integral_(-pi)^pi abs(hat(beta))^2 dif omega \\/ (2 pi)$", "∫_(−π)^π |β̂|² dω / (2 π)"),
        ("$frac(a + b, c) frac(1, 2)$", "((a + b)/c) 1/2"),
        ("$1/p e^(-tau)$", "(1/p) e^(−τ)"),
        ("$T^(1/2)$, $x_(i j)$, $n^(-3)$, $a^(b_c)$", "T^(1/2), xᵢⱼ, n⁻³, a^b_c"),
        ('$lambda_max$, $sigma_"sgd"^2$, $kappa_Theta$', "λ_max, σ_sgd², κ_Θ"),
        ("$beta_t^((nu))$, $beta^((t+1))$", "βₜ^(ν), β⁽ᵗ⁺¹⁾"),
        ("$F^*$, $eta^star$, $Z^top X$, $f'(x)$", "F*, η*, Zᵀ X, f′(x)"),
        ("$overline(epsilon)$, $tilde(O)(T^3)$, $underline(gamma)$", "ε̅, Õ(T³), γ̲"),
        ("$cal(N)(0, I)$, $bb(R)^d$, $RR^(n times p)$", "𝒩(0, I), ℝᵈ, ℝ^(n × p)"),
        ('$op("Tr")[H]$, $op("argmin", limits: #true)_x f$', "Tr[H], argminₓ f"),
        ("$x in {1, 2}$, $chevron.l u, v chevron.r$, $a << b$", "x ∈ {1, 2}, ⟨ u, v ⟩, a ≪ b"),
        ("$binom(n, k)$, $vec(a, b)$, $mat(a, b; c, d)$", "(n choose k), (a, b), [a; b; c; d]"),
        ("$floor(x) ceil(y)$, $lr((a/b))$", "⌊x⌋⌈y⌉, (a/b)".replace("⌋⌈", "⌋ ⌈")),
        ("*Strong* and _soft_, `raw --a *`, best_nu, a \\* b, 1--2", "Strong and soft, raw --a *, best_nu, a * b, 1–2"),
        ('of $op("Tr")[H] \\/ 2$, 1\\/8 of "it"', 'of Tr[H] / 2, 1/8 of "it"'),
        ("5 \\$ and $x$", "5 $ and x"),
        ("no formula", "no formula"),
        ("", ""),
    ],
)
def test_formulas_as_a_terminal_shows_them(markup: str, shown: str) -> None:
    assert plain(markup) == shown


@given(st.text())
@settings(derandomize=True, deadline=None)
def test_any_text_can_be_shown(text: str) -> None:
    plain(text)
    plain(f"${text}$")


@given(st.text(alphabet="ab1 $#*_`@<>~[]/\\\"'=+-.", max_size=30))
@settings(derandomize=True, deadline=None, max_examples=500)
def test_what_a_check_says_is_shown_as_it_is(text: str) -> None:
    if "$" not in text:
        assert plain(literal(text)) == text


@given(st.text(alphabet="ab1 #*_`@<>~[]/\\\"'=+-.{}:", max_size=30))
@settings(derandomize=True, deadline=None, max_examples=20)
def test_what_a_check_says_is_markup(text: str) -> None:
    from reports.render import PROBE, compile_file

    compile_file(PROBE, {"markup": literal(text)})


# Words that are the same in a formula and in print.
NAMES = {
    "arccos", "arcsin", "arctan", "arg", "cos", "cosh", "cot", "deg", "det", "dim", "exp", "gcd",
    "id", "im", "inf", "ker", "lg", "lim", "liminf", "limsup", "ln", "log", "max", "min", "mod",
    "Pr", "sec", "sin", "sinc", "sinh", "sup", "tan", "tanh", "tr",
}  # fmt: skip
WORD = re.compile(r"(?<![A-Za-z\"])[A-Za-z]{2,}(?:\.[a-z]+)*(?![A-Za-z\"])")


def texts_of(claim: Claim) -> Iterator[str]:
    yield from claim.texts().values()


def texts(topic: Topic) -> Iterator[tuple[str, str]]:
    for claim in topic.claims.values():
        yield from ((claim.id, text) for text in texts_of(claim))
    yield from ((topic.name, item.sentence) for item in (*topic.stands, *topic.sharper))


@pytest.mark.parametrize("name", list(topics()))
def test_no_text_keeps_markup(name: str) -> None:
    for place, text in texts(topics()[name]):
        shown = plain(text)
        assert not {"$", "\\"} & set(shown), (place, shown)
        quoted = " ".join(re.findall(r'"([^"]*)"', text))
        for formula in re.findall(r"\$([^$]*)\$", text):
            words = set(WORD.findall(re.sub(r'"[^"]*"', " ", formula)))
            outside = re.sub(r"\$[^$]*\$", " ", text) + quoted
            left = {word for word in words - NAMES if word in WORD.findall(shown) and word not in outside}
            assert not left, (place, left, shown)
