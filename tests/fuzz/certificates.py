"""Saved bounds, changed at random: neither checker may accept what is false.

Each file holds one bound, of each kind of noise in turn, with one to three changes: a number a little off or wildly,
one put in another's place, other types, entries left out, added or exchanged. What `dpbounds solve --check` or
`verify/standalone_checker.py` accepts is held against a quadrature that neither uses, the row against its certificate;
and the former accepts nothing that the latter refuses.

    python -m tests.fuzz.certificates --count 1000         # a few minutes
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import sys
import tempfile
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import AccuracyError, DomainError
from dpbounds.ftrl import correlations as c
from dpbounds.ftrl import strongly_convex as sc
from verify import standalone_checker as standalone
from verify.cli.solve.ftrl import check
from verify.cli.solve.ftrl.rows import Case, row_of

# Relative: what the checkers' own tolerances and the quadrature leave open.
OPEN = 2e-8
CORRELATIONS = {
    "sgd": c.independent(),
    "nu": c.nu(0.2),
    "damped-anti-pgd": c.damped_anti_pgd(0.3),
    "coefficients": c.from_coefficients([1.0, -0.6, 0.1]),
    "optimal": c.HalfPowers((0.7, 0.2 + 0.3j), (0.4,)),
}
SETTINGS = ("eta", "L", "rho", "d", "clip_norm", "sigma_sgd")


def saved_rows() -> list[dict[str, Any]]:
    """A certified row of each kind of noise in programs f and causal, and of others with gradient noise."""
    asked: list[tuple[Any, ...]] = [("f", 0.0, *pair) for pair in CORRELATIONS.items()] + [
        ("theta", 0.5, "nu", c.nu(0.3))
    ]
    asked += [("causal", 0.0, *pair) for pair in CORRELATIONS.items()] + [("causal", 0.5, "nu", c.nu(0.3))]
    rows = []
    for name, sigma, mechanism, correlation in asked:
        program = sc.Program(name=name, mu=1 / 3, L=1.0, eta=1.2 if name == "causal" else 0.5)
        noise = sc.Noise(correlation=correlation, rho=0.5, d=3 if sigma else 1, sigma_sgd=sigma)
        found = sc.bound_program(noise, program, max_lag=1)
        case = Case(mechanism=mechanism, kappa=3.0, program=program, noise=noise)
        rows.append({**row_of(case, found, 0.1), "certificate": found.data()})
    return json.loads(json.dumps(rows))


def leaves(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with each of its keys."""
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], (dict, list)):
            yield from leaves(data[key])


def changed(row: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The row with one to three changes."""
    row = copy.deepcopy(row)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(leaves(row))
        # Half of the changes in the numbers that prove.
        inner = list(leaves(row["certificate"])) if isinstance(row.get("certificate"), (dict, list)) else []
        place, key = rng.choice(inner if inner and rng.random() < 0.5 else places)
        _change(place, key, places, rng)
    return row


def _change(place: Any, key: Any, places: Sequence[tuple[Any, Any]], rng: random.Random) -> None:
    value = place[key]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < 0.8:
        size = rng.choice((1e-13, 1e-11, 1e-9, 1e-7, 1e-4, 0.05, 0.5))
        place[key] = rng.choice((value * (1 - size), value * (1 + size), value + size, value - size, -value))
        return
    other, name = rng.choice(places)
    new = rng.choice((None, True, 0, 0.0, "0.5", "nu", [], {}, 10**30, 1e300, 5e-324, -1.0, copy.deepcopy(other[name])))
    action = rng.random()
    if action < 0.6:
        place[key] = new
    elif action < 0.8:
        del place[key]
    elif isinstance(place, list):
        place.insert(key, new)
    else:
        place[rng.choice(("kappa", "nu", "best_nu", "status", "comment", "value", "beta"))] = new


# --- what is true, without either checker ---


def ends(data: dict[str, Any]) -> dict[str, float]:
    """The quantities of a certificate by the trapezoidal rule in y, tan(omega / 2) = e^y, to about 1e-9."""
    program, noise = sc.Program(**data["program"]), data["noise"]
    mu, L, eta = program.mu, program.L, program.eta
    y = np.arange(-60.0, 60.0, 0.01)
    omega, weight = 2.0 * np.arctan(np.exp(y)), 0.01 / np.cosh(y) / np.pi
    w, z = np.exp(1j * omega), 2.0 * np.sin(omega / 2.0) * np.exp(1j * (omega - np.pi) / 2.0)
    power, B = _power(noise["correlation"], w, z), _wave(noise["correlation"], w)
    multipliers = np.array(data["multipliers"], dtype=float)
    lags, a, b = len(multipliers) // 2, L / 2.0, (L if program.name == "theta" else mu) / 2.0
    c = a + multipliers[0] + 0j
    for t in range(1, lags + 1):
        c = c + multipliers[t] * (1.0 - w**t) + multipliers[lags + t] * (1.0 - w**-t)
    u, v = z - eta * mu, z - eta * L
    denominator = 2.0 * np.real(c * np.conj(u) * v) - a * np.abs(u) ** 2 - b * np.abs(v) ** 2
    private = noise["d"] * noise["clip_norm"] ** 2 / (2.0 * noise["rho"]) * (weight @ (1.0 / power))
    density = private * power + noise["sigma_sgd"] ** 2
    inner = (c - a) * np.conj(u) + np.conj((c - a) * v) + (a - b) * np.conj(v)
    levels = ((private, B, _newest(noise["correlation"])), (noise["sigma_sgd"] ** 2, 1.0, 1.0))
    told = [
        level * (weight @ ((2 * m * np.real(inner * wave * w) + m * m) / denominator) + 2 * m * first) / (L - mu) ** 2
        for m, (level, wave, first) in zip(data.get("shifts", []), levels, strict=False)
    ]
    found = {
        "value": eta**2 * (weight @ (density * (np.abs(c) ** 2 - a * b) / denominator)) + sum(told),
        "lower": eta**2 * data["curvature"] / 2 * (weight @ (density / np.abs(z - eta * data["curvature"]) ** 2)),
        "contraction": eta**2 * L / 2 * (weight @ density) / min(eta * mu, 2 - eta * L) ** 2,
    }
    if denominator.min() <= 0:
        found["value"] = np.inf
    if np.ptp(power) <= 1e-12 * power.max():
        found["co_coercivity"] = eta / 2 * (weight @ density) * max(1, 1 / (2 - eta * L))
    return found


def _power(data: dict[str, Any], w: np.ndarray, z: np.ndarray) -> np.ndarray:
    if data["kind"] == "coefficients":
        return np.abs(np.polynomial.polynomial.polyval(w, data["beta"])) ** 2
    if data["kind"] in ("nu", "damped_anti_pgd"):
        return np.abs(z + data["nu"] * w) ** (1 if data["kind"] == "nu" else 2)
    power = np.ones_like(w)
    for sign, name in ((1, "zeros"), (-1, "poles")):
        for x, y in data[name]:
            q = complex(x, y)
            power = power * (np.abs(1 - q * w) * (np.abs(1 - np.conj(q) * w) if y else 1)) ** sign
    return np.real(power)


def _wave(data: dict[str, Any], w: np.ndarray) -> np.ndarray:
    """B = sum_k b_k w^-k."""
    if data["kind"] == "coefficients":
        return np.polynomial.polynomial.polyval(1 / w, data["beta"])
    if data["kind"] in ("nu", "damped_anti_pgd"):
        return (1 - (1 - data["nu"]) / w) ** (0.5 if data["kind"] == "nu" else 1.0)
    wave = np.ones_like(w)
    for power, name in ((0.5, "zeros"), (-0.5, "poles")):
        for x, y in data[name]:
            for q in {complex(x, y), complex(x, -y)}:
                wave = wave * (1 - q / w) ** power
    return wave


def _newest(data: dict[str, Any]) -> float:
    return data["beta"][0] if data["kind"] == "coefficients" else 1.0


def false_in(row: dict[str, Any], claimed: tuple[float, float] | None) -> str:
    """What is false in a row that was accepted, or in the ends that were claimed for it; empty if nothing is."""
    data = row["certificate"]
    true = ends(data)
    stored = {name: data[name] for name in ("value", "lower")}
    if len(row) > 1:
        for name in SETTINGS:
            if row[name] != {**data["noise"], **data["program"]}[name]:
                return f"{name} of the row"
        if data["program"]["L"] / row["kappa"] != data["program"]["mu"] or row["program"] != data["program"]["name"]:
            return "kappa or program of the row"
        if {row.get("nu"), row.get("best_nu")} != {data["noise"]["correlation"].get("nu"), None}:
            return "nu of the row"
        stored |= {f"row's {name}": row[name] for name in (*true, "upper")}
    true["upper"] = min(value for name, value in true.items() if name != "lower")
    if claimed is not None:
        stored |= {"lower claimed": claimed[0], "upper claimed": claimed[1]}
    for name, given in stored.items():
        truth = next(true[key] for key in true if key in name)
        if not (given <= truth * (1 + OPEN) if "lower" in name else given >= truth * (1 - OPEN)):
            return f"{name} = {given!r}, in truth {truth!r}"
    return ""


# --- the two checkers ---


def by_balls(row: Any, folder: Path) -> bool:
    """Whether `dpbounds solve --check` accepts the row in a file with a right checksum."""
    rows = [row]
    digest = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:32]
    file = folder / "changed.json"
    file.write_text(json.dumps({"format": check.FORMAT, "checksum": digest, "rows": rows}))
    try:
        with redirect_stdout(StringIO()):
            return check.run(Namespace(check=str(file), json=True)) == 0
    except (DomainError, AccuracyError):
        return False


def by_fractions(row: Any, folder: Path) -> tuple[tuple[float, float] | None, bool]:
    """The ends that the standalone checker proves, None where it does not; whether it refuses."""
    file = folder / "changed.json"
    file.write_text(json.dumps({"rows": [row]}))
    try:
        found = standalone.proved(standalone.read(str(file))[0])
    except standalone.CannotDecide:
        return None, False
    except standalone.Refused:
        return None, True
    upper = min(high for name, (_, high) in found.ends.items() if name != "lower")
    return (float(found.ends["lower"][0]), float(upper)), False


def run(count: int, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """How many changed files were accepted by which checker, and what was false in them."""
    rows, counts, wrong = saved_rows(), Counter(), []
    with tempfile.TemporaryDirectory() as name:
        for number in range(count):
            rng = random.Random(f"{seed} {number}")
            row = changed(rows[number % len(rows)], rng)
            (claimed, refused), accepted = by_fractions(row, Path(name)), by_balls(row, Path(name))
            counts["both" if claimed and accepted else "fractions" if claimed else "balls" if accepted else "none"] += 1
            if claimed or accepted:
                reason = "refused by the standalone checker" if refused else false_in(row, claimed)
                wrong += [f"{seed} {number}: {reason}: {json.dumps(row)}"] if reason else []
    return counts, wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 1 if a false file was accepted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    counts, wrong = run(chosen.count, chosen.seed)
    accepted = ", ".join(f"{counts[key]} by {key}" for key in ("none", "both", "fractions", "balls"))
    print(f"{chosen.count} changed files: accepted {accepted}; false among those accepted: {len(wrong)}")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
