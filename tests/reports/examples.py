"""Small results files for the tests of reports, in the format that `dpbounds verify` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reports.results import Results, read

Data = dict[str, Any]


def series(label: str = "exact", role: str = "theory", **changes: Any) -> Data:
    return {"label": label, "role": role, "x": [1.0, 10.0, 100.0], "y": [2.0, 20.0, 200.0], **changes}


def simulated(label: str = "simulated", **changes: Any) -> Data:
    return series(label, "simulation", low=[1.5, 15.0, 150.0], high=[2.5, 25.0, 250.0], **changes)


def slope(group: str = "SGD") -> Data:
    return {"group": group, "printed": 1.0, "exact": 0.998, "simulated": 1.013, "low": 0.97, "high": 1.056}


def picture(*content: Data, **changes: Any) -> Data:
    return {"x": "dimension", "y": "error", "log": ["x", "y"], "series": list(content or (series(),)), **changes}


def evidence(**changes: Any) -> Data:
    fields = {"form": "printed", "outcome": "holds", "how": "numeric", "summary": "129 points agree.", "slack": None}
    fields |= {"counterexample": None, "resolution": None, "alpha": None, "beta": None, "trials": 0, "evaluations": 129}
    return {**fields, "needed": "", "rows": [], "picture": None, **changes}


def claim(name: str = "ftrl/thm-1", **changes: Any) -> Data:
    fields = {"claim": name, "topic": name.partition("/")[0], "where": "Theorem 1", "kind": "identity"}
    fields |= {"statement": "$a^2 = b$.", "hypotheses": "$a > 0$.", "correction": "", "verdict": "confirmed"}
    fields |= {"how": "numeric", "slack": None, "finding": "", "reviewed": "confirmed", "level": "quick", "seed": 0}
    return {**fields, "code": "c0de", "evidence": [evidence()], **changes}


def corrected(name: str = "ftrl/thm-2", **changes: Any) -> Data:
    """A claim that fails at eta = 0.5 and holds with 2 in place of 3."""
    failure = {"left": 0.25, "right": 0.375, "eta": 0.5}
    found = [
        evidence(outcome="fails", summary="The sides differ at eta = 0.5.", counterexample=failure),
        evidence(form="corrected", how="proved", summary="Proved symbolically: identity."),
    ]
    fields = {"verdict": "corrected", "how": "proved", "correction": "$2 b$ in place of $3 b$.", "evidence": found}
    finding = "The sides differ at eta = 0.5. Holds when corrected: $2 b$ in place of $3 b$."
    return claim(name, **{**fields, "finding": finding, "reviewed": "corrected", **changes})


def one_of_each() -> list[Data]:
    """A claim for every verdict, with pictures of every role, in two topics."""
    drawn = picture(series(), simulated(), series("upper bound", "bound"), series("printed", "printed"))
    statistical = evidence(
        how="statistical", picture=drawn | {"slopes": [slope()]}, trials=12000, alpha=3e-9, beta=1e-3
    )
    return [
        claim("ftrl/fig-1-left", where="Figure 1, left", evidence=[statistical], how="statistical", slack=1.0189),
        claim("ftrl/rate", where="Table 1", evidence=[evidence(picture=drawn | {"slopes": [slope("nu-FTRL")]})]),
        corrected(),
        claim("ftrl/thm-3", verdict="refuted", finding="Violated at x = 2.", evidence=[failed()]),
        claim("ftrl/thm-4", verdict="undecided", finding="about 5000 trials", evidence=[evidence(outcome="unclear")]),
        claim("ftrl/fig-4", verdict="not run", how=None, finding="needs data that nobody has", evidence=[]),
        claim("other/thm-1", seed=1),
    ]


def failed() -> Data:
    return evidence(outcome="fails", summary="Violated at x = 2.", counterexample={"x": 2.0, "smaller": 4, "larger": 3})


def content(claims: list[Data]) -> Data:
    return {"format": "dpbounds-results/1", "versions": {"numpy": "2.0.0", "python": "3.11.7"}, "claims": claims}


def write(folder: Path, claims: list[Data]) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(content(claims)), encoding="utf-8")
    return path


def results(folder: Path, claims: list[Data]) -> Results:
    return read(write(folder, claims))
