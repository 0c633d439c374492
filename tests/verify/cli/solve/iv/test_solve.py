"""`dpbounds solve iv`: noise, privacy, bound (7), prediction and best T against formulas written out here."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from dpbounds.iv import answers
from tests.verify.cli.solve.examples import call, rows_of
from verify.cli import parser
from verify.cli.solve.iv import plot, problem, solving

N, P, Q, RHO1, RHO2 = 2000, 5, 5, 5.0, 4.0
IV = ("solve", "iv", "--n", N, "--p", P, "--q", Q, "--rho1", RHO1, "--rho2", RHO2)
SMALL = ("solve", "iv", "--n", 2000, "--p", 2, "--q", 3, "--rho1", 1, "--rho2", 1)
# Of the default problem: eta = 1, alpha = 2 / 3 = 2 / (2 + 1), kappa = 1 - alpha / 2.
ALPHA, KAPPA = 2 / 3, 2 / 3


@pytest.fixture
def unadvised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the search for better clip norms, most of what a table costs."""
    monkeypatch.setattr(answers, "suggested_clip_norms", lambda *_: None)


@pytest.fixture(scope="module")
def table() -> dict[int, dict[str, Any]]:
    """The rows of the default problem, by T."""
    return {row["T"]: row for row in rows_of(*IV, "--T", 1, 3, 4, 7, 20, 300, "--delta", 1e-6)}


def rows(capsys: pytest.CaptureFixture[str], *asked: object) -> dict[int, dict[str, Any]]:
    """By T."""
    shown = call(capsys, *asked, "--json")
    assert shown.status == 0 and shown.err == ""
    return {row["T"]: row for row in shown.rows}


def squared_error(T: int, lambda1: float, lambda2: float) -> float:
    """Leading order for eta = 1, Theta = I, ||beta|| = 1, p = q: Theta_t = I + Xi_{t-1} from t = 1 on, beta_0 = 0.

    beta_2 has no noise of Theta but in its first gradient, alpha Theta_1' beta; from then on d = beta - beta_t is r_t =
    l^{t-1}, l = 1 - alpha. Noise of Theta at t enters through alpha [Xi'(r beta) - Xi (1 - r) beta], independent each
    time, and shifts the mean by -alpha q (1 - r) beta.
    """
    l, spread, drift = 1 - ALPHA, 0.0, 0.0
    for t in range(1, T):
        r = l ** (t - 1)
        # Xi'u + Xi v, u = r beta, v = -(1 - r) beta: covariance (|u|² + |v|²) I + uv' + vu', of trace p(...) + 2 u'v.
        spread = l**2 * spread + ALPHA**2 * (P * (r**2 + (1 - r) ** 2) - 2 * r * (1 - r))
        drift = l * drift - ALPHA * Q * (1 - r)
    own = P * ALPHA**2 * sum(l ** (2 * max(T - 1 - max(t, 0), 0)) for t in range(T))
    bias = -(l ** (T - 1)) + lambda1**2 * drift
    return bias**2 + lambda1**2 * spread + lambda2**2 * own


def clip(T: int) -> float:
    return (math.sqrt(Q) + math.sqrt(5 + math.log(N * T))) ** 2


def scales(T: int) -> tuple[float, float]:
    return tuple(2 * clip(T) / N * math.sqrt(T / rho) for rho in (RHO1, RHO2))


# --- noise and privacy ---


@pytest.mark.parametrize("T", [1, 20, 300])
def test_noise_and_privacy(table, T):
    row = table[T]
    assert row["gamma1"] == row["gamma2"] == pytest.approx(clip(T), rel=1e-12)
    assert (row["lambda1"], row["lambda2"]) == pytest.approx(scales(T), rel=1e-12)
    assert row["rho_claimed"] == RHO1 + RHO2
    exact = RHO1 / 2 + (1 - 1 / T) * RHO2 / 2
    assert row["rho_worst_case"] == pytest.approx(exact, rel=1e-12)
    mu = math.sqrt(2 * exact)

    def excess(epsilon: float) -> float:
        far = math.exp(epsilon + stats.norm.logcdf(-epsilon / mu - mu / 2))
        return stats.norm.cdf(mu / 2 - epsilon / mu) - far - 1e-6

    assert row["epsilon_worst_case"] == pytest.approx(brentq(excess, 0.1, 100), rel=1e-7)
    assert row["epsilon_worst_case"] < row["epsilon_claimed"] <= 9 + 2 * math.sqrt(9 * math.log(1e6))


def test_privacy_of_beta_alone(table):
    T = 20
    row = table[T]
    assert row["beta_claimed"] == RHO2
    assert row["beta_at_most"] == pytest.approx((1 - 1 / T) * (RHO1 + RHO2) / 2, rel=1e-12)
    w = stats.norm.cdf(0.5 * math.sqrt(RHO1 / T))
    assert row["beta_at_least"] == pytest.approx((2 * w - 1) * math.log(w / (1 - w)), rel=1e-6)
    assert row["algorithm_3_worst_case"] == pytest.approx(N**2 * (1 - 1 / T) * RHO2 / 2, rel=1e-12)
    assert row["beta_epsilon_at_most"] < row["epsilon_worst_case"]
    assert [table[1][name] for name in ("beta_at_least", "beta_at_most", "beta_epsilon_at_most")] == [0, 0, 0]


@pytest.mark.usefixtures("unadvised")
def test_tight_noise_costs_the_budget_and_zero_out_halves_the_noise(capsys):
    T = 7
    tight = rows(capsys, *IV, "--T", T, "--calibration", "tight")[T]
    assert tight["rho_worst_case"] == pytest.approx(RHO1 + RHO2, rel=1e-12)
    zero_out = rows(capsys, *IV, "--T", T, "--adjacency", "zero-out")[T]
    assert (2 * zero_out["lambda1"], 2 * zero_out["lambda2"]) == pytest.approx(scales(T), rel=1e-12)
    for row in (tight, zero_out):
        assert row["rho_claimed"] is row["beta_claimed"] is row["epsilon_claimed"] is None
    shown = call(capsys, *IV, "--adjacency", "zero-out").out
    assert "the paper has none for zero-out neighbours" in shown and "Lemma F.1" not in shown


def test_no_noise_in_the_first_stage(capsys):
    """rho_1 = inf: everything released costs everything, beta alone n² times the claim."""
    row = rows(capsys, *SMALL[:-4], "--rho1", "inf", "--rho2", 1, "--T", 3)[3]
    assert row["rho_worst_case"] == row["epsilon_worst_case"] == "inf" and row["lambda1"] == row["first_noise"] == 0
    assert row["beta_at_least"] == row["beta_at_most"] == pytest.approx(2000**2 * 2 / 3 / 2, rel=1e-12)


# --- bound (7) ---


def test_the_bound_by_term(table):
    root, spread = math.sqrt(5) + math.sqrt(5), 5 + math.log(25)
    for T, row in table.items():
        privacy = math.sqrt(P) * root**3 * math.sqrt(T) / (N * math.sqrt(RHO2))
        terms = (KAPPA ** (T / 2), privacy, math.sqrt(P * Q) * spread / math.sqrt(N))
        assert (row["optimisation"], row["privacy"], row["statistical"]) == pytest.approx(terms, rel=1e-12)
        assert row["total"] == pytest.approx(sum(terms), rel=1e-12) and row["kappa"] == pytest.approx(KAPPA)
        assert row["dominant"] == ("optimisation", "privacy", "statistical")[int(np.argmax(terms))]
    best = min(range(1, 2000), key=lambda T: KAPPA ** (T / 2) + math.sqrt(5 * T / RHO2) * root**3 / N)
    assert [T for T, row in table.items() if "bound" in (row["best_for"] or "")] == [best]


@pytest.mark.usefixtures("unadvised")
def test_hypotheses_that_fail_are_named(capsys):
    """(5): T <= rho_1 n² / (p Q^6) = 600 for rho_1 = 6; Lemma D.1: n >= Q³ sqrt(T / min rho) up to T = 2000."""
    asked = (*IV, "--rho1", 6, "--T", 599, 601)
    found = rows(capsys, *asked)
    assert found[599]["unmet"] == [] and [one["name"] for one in found[601]["unmet"]] == ["(5)"]
    assert found[601]["unmet"][0]["limit"] == pytest.approx(600, rel=1e-12)
    shown = call(capsys, *asked).out
    assert "Not met at T = 601: (5), T <= C rho_1 n^{2-eps} / (p Q^6)." in shown
    assert "Largest term: statistical from the start, privacy above T = 337.7; (5) allows T up to 600." in shown
    few = call(capsys, "solve", "iv", "--n", 60, "--p", 5, "--q", 5, "--rho1", 1, "--rho2", 1).out
    assert "Not met at any T: (6) dimension, n >= c_1 pq Lambda²." in few


@pytest.mark.usefixtures("unadvised")
def test_constants_change_what_they_stand_for(capsys):
    plain, changed = (
        rows(capsys, *IV, "--T", 20, *more)[20]
        for more in ((), ("--constant", "clipping=3", "privacy=2", "statistical=5", "optimisation=7"))
    )
    factors = {"gamma1": 3, "lambda2": 3, "privacy": 2, "statistical": 5, "optimisation": 7, "second_noise": 3}
    for name, factor in factors.items():
        assert changed[name] == pytest.approx(factor * plain[name], rel=1e-12)
    unit = call(capsys, *IV, "--constant", "concentration=1", "product=1").out
    assert "Not met at any T: Lemma D.6, psi < sigma_min(Theta)." in unit and "delta = 0.1 and psi = 1.23" in unit
    assert "With all constants 1" not in unit
    assert "With all constants 1 delta would be 0.1 and psi 1.23" in call(capsys, *IV).out


@pytest.mark.usefixtures("unadvised")
def test_a_rate_of_1_makes_the_bound_void(capsys, monkeypatch):
    monkeypatch.setattr(answers, "MOST_STEPS", 50)
    asked = (*SMALL, "--singular-values", "1", "1e-9", "--T", 3)
    assert all(row["total"] is None for row in rows(capsys, *asked).values())
    shown = call(capsys, *asked).out
    assert "Error bound (7): void, kappa = 1 is not below 1." in shown and "none by the bound" in shown


# --- prediction ---


def test_the_prediction_in_closed_form(table):
    for T in (1, 2, 3, 4, 5, 7, 10, 17, 20, 50):
        row = table[T]
        # Finite n widens the law by a little: claim iv/beyond-reliable judges how much.
        closed = math.sqrt(squared_error(T, *scales(T)))
        assert closed <= row["rms"] <= 1.05 * closed
        assert row["noiseless"] == pytest.approx((1 - ALPHA) ** (T - 1), rel=1e-9)
        assert row["median"] < row["rms"]
        noise = (math.sqrt(P) + math.sqrt(Q)) * row["lambda1"]
        assert row["theta_noise"] == pytest.approx(noise, rel=1e-12)
        assert row["reliable"] == (noise <= 0.3)


@pytest.mark.usefixtures("unadvised")
def test_the_best_T_of_the_prediction_by_trying_all(capsys):
    found = rows(capsys, *IV)
    best = min(range(1, 500), key=lambda T: squared_error(T, *scales(T)))
    assert [T for T, row in found.items() if "prediction" in (row["best_for"] or "")] == [best]
    assert f"Best T: {best} by the prediction (median {found[best]['median']:.3g})" in call(capsys, *IV).out


def test_the_median_by_sampling_the_algorithm(table):
    """Unclipped runs at the population moments: an order statistic interval of level 1 - 1e-9, widened by 2 %."""
    T, trials = 4, 20_000
    row = table[T]
    rng, beta = np.random.default_rng(5), np.full(P, 1 / math.sqrt(P))
    theta, run = np.zeros((trials, Q, P)), np.zeros((trials, P))
    for _ in range(T):
        residual = np.einsum("tqp,tp->tq", theta, run) - beta
        run = (
            run - ALPHA * np.einsum("tqp,tq->tp", theta, residual) + ALPHA * row["lambda2"] * rng.normal(size=run.shape)
        )
        theta = np.eye(Q) + row["lambda1"] * rng.normal(size=theta.shape)
    errors = np.sort(np.linalg.norm(run - beta, axis=1))
    low, high = stats.binom.ppf([5e-10, 1 - 5e-10], trials, 0.5).astype(int)
    assert 0.98 * errors[low] <= row["median"] <= 1.02 * errors[high]


@pytest.mark.usefixtures("unadvised")
def test_best_split_is_where_the_error_is_least(capsys):
    """At a fixed sum, the shares tried on a grid."""
    total = 10.0
    shown = call(capsys, *SMALL[:-4], "--rho1", 1, "--rho2", 9, "--singular-values", 2, 0.7).out
    T, share = re.search(r"at T = (\d+): ([\d.]+) to the first stage \(now 0.1\)", shown).groups()

    def noise(part: float) -> float:
        budgets = ("--rho1", total * part, "--rho2", total * (1 - part))
        row = rows(capsys, *SMALL[:-4], *budgets, "--singular-values", 2, 0.7, "--T", T)[int(T)]
        return row["first_noise"] ** 2 + row["second_noise"] ** 2

    at = {part: noise(part) for part in (float(share) - 0.02, float(share), float(share) + 0.02)}
    assert min(at, key=at.__getitem__) == float(share)


def test_a_theta_from_a_file_is_its_singular_values(capsys, tmp_path):
    generator = np.random.default_rng(0)
    matrix = generator.normal(size=(3, 2))
    _, singular, basis = np.linalg.svd(matrix)
    beta = generator.normal(size=2)
    (tmp_path / "theta.json").write_text(json.dumps(matrix.tolist()))
    text = "\n".join(",".join(map(repr, map(float, line))) for line in matrix)
    (tmp_path / "theta.csv").write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")
    plain = rows(capsys, *SMALL, "--singular-values", *singular, "--beta", *(basis @ beta))
    for name in ("theta.json", "theta.csv"):
        found = rows(capsys, *SMALL, "--theta", tmp_path / name, "--beta", *beta)
        assert list(found) == list(plain)
        for T, row in found.items():
            for column in ("median", "rms", "noiseless", "first_noise", "shift", "total"):
                # What clipping does is a mean over nodes, which turn with the singular basis.
                close = 1e-3 if column in ("median", "rms") else 1e-9
                if plain[T][column] is None:
                    assert row[column] is None
                else:
                    assert row[column] == pytest.approx(plain[T][column], rel=close, abs=1e-14)
    default = rows(capsys, *SMALL, "--singular-values", *singular[::-1])
    assert default.keys() == rows(capsys, *SMALL, "--theta", tmp_path / "theta.csv").keys()


def test_singular_values_keep_their_coordinates(capsys):
    """Whatever their order, beta_j belongs to the j-th."""
    one = rows(capsys, *SMALL, "--singular-values", 0.5, 2, "--beta", 3, 0.1, "--T", 5)[5]
    other = rows(capsys, *SMALL, "--singular-values", 2, 0.5, "--beta", 0.1, 3, "--T", 5)[5]
    assert one["rms"] == other["rms"] > 2.0


# --- what is said and written ---


def test_the_output_reads_as_a_whole(capsys):
    shown = call(capsys, *IV, "--T", 20)
    assert shown.status == 0 and max(map(len, shown.out.splitlines())) <= 120
    assert shown.out.startswith(
        "n = 2000, p = 5, q = 5; rho1 = 5, rho2 = 4 (zCDP, replace-one); Theta with singular values 1"
    )
    for title in ("Noise and privacy of Algorithm 1, all", "beta alone", "Error bound (7)", "Predicted ||beta_T"):
        assert title in shown.out
    for remark in ("eta = 1, alpha = 0.6667", "Best T: ", "Best split", "2SLS itself: median", "Suggested clip norms"):
        assert remark in shown.out
    assert len(re.findall(r"^20 ", shown.out, re.MULTILINE)) == 5


def test_no_clip_norms_for_a_budget_that_is_too_small(capsys):
    none = call(capsys, *SMALL[:-4], "--rho1", 1e-4, "--rho2", 1e-4).out
    assert "Best T: none by the prediction, which is reliable at no T" in none and "the budget is too small" in none


@pytest.mark.usefixtures("unadvised")
def test_remarks_for_what_does_not_exist(capsys):
    silent = call(capsys, *SMALL[:-4], "--rho1", "inf", "--rho2", "inf").out
    assert "Best T: none; without noise more steps are always better." in silent and "Best split" not in silent
    exact = call(capsys, *SMALL[:-4], "--rho1", 1, "--rho2", "inf").out
    assert "No at_least: without noise in the second stage none is known." in exact
    weak = call(capsys, *SMALL[:-4], "--rho1", 100, "--rho2", 1e-4).out
    assert "No better than beta_0 = 0, whose error is 1." in weak
    clipped = " ".join(call(capsys, *SMALL, "--gamma1", 1).out.split())
    assert "Not reliable at any T: first-stage gradients clipped." in clipped
    assert "eq. (4), which these are not." in clipped
    assert "No epsilon" in call(capsys, *SMALL[:-4], "--rho1", 1e9, "--rho2", 1e9).out


def test_a_run_that_does_not_settle(capsys, monkeypatch):
    monkeypatch.setattr(answers, "MOST_STEPS", 50)
    budgets = ("--rho1", "1e9", "--rho2", "1e9", "--n", 10**9)
    asked = (*SMALL[:-4], *budgets, "--singular-values", 1, 0.02, "--T", 40, 60)
    found = rows(capsys, *asked)
    assert found[40]["median"] > 0 and found[60]["median"] is found[60]["reliable"] is None
    assert not any("prediction" in (row["best_for"] or "") for row in found.values())


def test_long_runs_and_many_records_are_quick(capsys):
    found = rows(capsys, "solve", "iv", "--n", 10**8, "--p", 5, "--q", 5, "--rho1", 1, "--rho2", 1, "--T", 10**5)
    row = found[10**5]
    assert row["noiseless"] == 0 and row["second_noise"] == pytest.approx(
        row["lambda2"] * math.sqrt(5 * ALPHA**2 / (1 - (1 - ALPHA) ** 2)), rel=1e-9
    )


def test_saved_rows_and_picture(capsys, tmp_path):
    asked = (*IV, "--save", tmp_path / "rows.json", "--plot", tmp_path / "curve.svg")
    found = list(rows(capsys, *asked).values())
    assert json.loads((tmp_path / "rows.json").read_text()) == found
    assert (tmp_path / "curve.svg").read_text().lstrip().startswith("<?xml") and len(list(tmp_path.iterdir())) == 2


def test_what_the_picture_shows(capsys):
    words = ["solve", "iv", *map(str, IV[2:]), "--plot", "curve.svg"]
    arguments = parser(words).parse_args(words)
    found = solving.answer_to(arguments, problem.population(arguments))
    assert found.best is not None
    picture = plot.picture(found)
    curves = {series.curve: dict(zip(series.x, series.y, strict=True)) for series in picture.series}
    by_T = {row["T"]: row for row in found.rows}
    for T in (1, 2, found.best):
        assert curves["predicted root mean square"][T] == pytest.approx(by_T[T]["rms"], rel=1e-9)
        assert curves["bound (7)"][T] == pytest.approx(by_T[T]["total"], rel=1e-12)
        assert curves["privacy term of (7)"][T] == pytest.approx(by_T[T]["privacy"], rel=1e-12)
    assert curves[f"least predicted, T = {found.best}"] == {found.best: pytest.approx(by_T[found.best]["rms"])}
    assert "least bound, T = 17" in curves and picture.log == ("x", "y")
