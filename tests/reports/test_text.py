"""Plain text and numbers for print."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.text import counted, fixed, lookup_order, number, one_line, power_of_ten, printable, short, typographic


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at eta = 0.5", "at η = 0.5"),
        ("nu-DP-FTRL (nu=0.3)", "ν-DP-FTRL (ν=0.3)"),
        ("sigma_sgd, beta*_0 and gamma_10^2", "σ_sgd, β*₀ and γ₁₀²"),
        ("x_1, name_1, x_1.5, x_1a", "x₁, name_1, x_1.5, x_1a"),
        ("the theta of thetas, best_nu, meta, Eta", "the θ of thetas, best_nu, meta, Eta"),
        ("worst 2.3e-16, allowed 1e-09", "worst 2.3\u202f×\u202f10⁻¹⁶, allowed 10⁻⁹"),
        ("1.99e+08 or 0.0e+00", "1.99\u202f×\u202f10⁸ or 0"),
        ("1f040055e12ab and 0x1e5", "1f040055e12ab and 0x1e5"),
        ("|B|^2, k^-3, x^2.5, e^x", "|B|², k⁻³, x^2.5, e^x"),
        ("-0.5 in [-1, 2], (1 - x) and x-1", "−0.5 in [−1, 2], (1 − x) and x-1"),
        ("a <= b >= c != d -> 0", "a ≤ b ≥ c ≠ d → 0"),
        ("T -> oo, at x = inf in [1, inf], foo, inf f", "T → ∞, at x = ∞ in [1, ∞], foo, inf f"),
        ("1 - a**2", "1 − a²"),
        ("D_alpha, k_max_alpha, Theta_4, Phi''", "D_α, k_max_alpha, Θ₄, Φ''"),
        ("observed 2 / l, stated oo.", "observed 2 / l, stated ∞."),
        ("sqrt(2) ||x||, sqrt d, G e^{i omega}", "√(2) ‖x‖, sqrt d, G e^(i ω)"),
        ("a\n  b\tc ", "a b c"),
        ("$x$ #y <z> @w \\ *v*", "$x$ #y <z> @w \\ *v*"),
    ],
)
def test_text_is_set_as_in_print(text: str, shown: str) -> None:
    assert typographic(text) == shown


@given(st.text())
@settings(derandomize=True, deadline=None)
def test_any_text_can_be_set(text: str) -> None:
    for shown in (typographic(text), one_line(text), printable(text)):
        assert "\0" not in shown
        shown.encode("utf-8")
    assert "\n" not in one_line(text)


def test_what_no_font_shows_is_replaced() -> None:
    assert one_line("a\0b\ud800c\x0bd\ufffee") == "a\ufffdb\ufffdc\ufffdd\ufffde"
    assert printable("$a$\n// remark\n$b$") == "$a$\n// remark\n$b$"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (435000, "435\u202f000"),
        (-12345.0, "−12\u202f345"),
        (1.018934, "1.019"),
        (2.5e-16, "2.5\u202f×\u202f10⁻¹⁶"),
        (-1e-9, "−10⁻⁹"),
        (3e12, "3\u202f×\u202f10¹²"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
    ],
)
def test_numbers(value: float | None, shown: str) -> None:
    assert number(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(derandomize=True, deadline=None)
def test_a_number_can_be_read_back(value: float) -> None:
    powers = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    text = number(value, 17).replace("−", "-").replace("\u202f", "").replace("×10", "e")
    text = text.replace("10", "1e", 1) if text.lstrip("-").startswith("10") and text[-1] in "⁰¹²³⁴⁵⁶⁷⁸⁹" else text
    assert float(text.translate(powers)) == value


def test_columns_and_ticks() -> None:
    assert [fixed(value) for value in (1.0, -0.18, math.inf)] == ["1.000", "−0.180", "∞"]
    assert [short(value) for value in (1e6, 3e8, 1.25e7)] == ["10⁶", "3\u202f×\u202f10⁸", "1.25\u202f×\u202f10⁷"]
    assert [power_of_ten(value) for value in (1.0, 1e-3, 1e12)] == ["10⁰", "10⁻³", "10¹²"]


def test_things_are_counted() -> None:
    assert [counted(count, "fact") for count in (0, 1, 2, 12000)] == [
        "0 facts",
        "1 fact",
        "2 facts",
        "12\u202f000 facts",
    ]


def test_names_are_looked_up_by_their_numbers() -> None:
    names = ["iv/thm-2.10", "iv/thm-2.9-b", "7", "iv/thm-2.9", "ftrl/thm-3", "", "iv/eq-7", "iv/thm", "²/x"]
    ordered = ["", "7", "ftrl/thm-3", "iv/eq-7", "iv/thm", "iv/thm-2.9", "iv/thm-2.9-b", "iv/thm-2.10", "²/x"]
    assert sorted(names, key=lookup_order) == ordered
