"""Small results files for the tests of reports, in the format that `dpbounds verify` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reports.reader import checksum, read
from reports.results import FORMAT, FORMS, TEXTS, Results

Data = dict[str, Any]


def series(curve: str = "SGD", role: str = "exact", **changes: Any) -> Data:
    columns = {"x": [1.0, 10.0, 100.0], "y": [2.0, 20.0, 200.0], "low": [], "high": []}
    return {"curve": curve, "typeset": curve, "role": role, **columns, **changes}


def simulated(curve: str = "SGD", **changes: Any) -> Data:
    return series(curve, "simulated", **{"low": [1.5, 15.0, 150.0], "high": [2.5, 25.0, 250.0], **changes})


def slope(curve: str = "SGD") -> Data:
    exponents = {"printed": 1.0, "exact": 0.998, "simulated": 1.013, "low": 0.97, "high": 1.056}
    return {"curve": curve, "typeset": curve, **exponents}


def picture(*content: Data, **changes: Any) -> Data:
    labels = {"x": "dimension d", "y": "error F", "typeset": {"x": "dimension $d$", "y": "error $F$"}}
    return {**labels, "log": ["x", "y"], "series": list(content or (series(),)), "slopes": [], **changes}


def evidence(**changes: Any) -> Data:
    fields = {"form": "printed", "outcome": "holds", "how": "numeric", "summary": "129 points agree.", "slack": None}
    fields |= {"counterexample": None, "resolution": None, "alpha": None, "beta": None, "trials": 0, "evaluations": 129}
    return {
        **fields,
        "needed": "",
        "rows": [],
        "picture": None,
        "clauses": "a",
        "role": "proof",
        "facts": [],
        **changes,
    }


def clause(word: str, how: str | None = None, **changes: Any) -> Data:
    texts = {"text": "a² = b.", "typeset": "$a^2 = b$."}
    return {"form": "printed", "letter": "a", **texts, "word": word, "how": how, **changes}


def claim(name: str = "ftrl/thm-1", **changes: Any) -> Data:
    """A claim that is confirmed; texts are given as markup, and stand in the file plain too."""
    texts = dict.fromkeys(TEXTS, "") | {"statement": "$a^2 = b$.", "hypotheses": "$a > 0$."}
    texts |= {key: changes.pop(key) for key in TEXTS if key in changes}
    fields = {"claim": name, "topic": name.partition("/")[0], "where": "Theorem 1", "kind": "identity", "page": 3}
    fields |= {key: text.replace("$", "") for key, text in texts.items()}
    fields |= {"equation": "", "typeset": texts, "verdict": "confirmed", "how": "numeric", "slack": None}
    fields |= {"severity": None, "touches": None, "root": "", "open": False, "reviewed": "confirmed"}
    fields |= {"level": "quick", "seed": 0, "code": "c0de", "clauses": [], "evidence": [evidence()], **changes}
    return fields if "how" in changes else {**fields, "how": _ground(fields)}


def _ground(fields: Data) -> str | None:
    """That of the evidence that decides: the first that fails, if that is the verdict, or else the last that holds."""
    grounds = {form: [item["how"] for item in fields["evidence"] if item["form"] == form] for form in FORMS}
    return (grounds["corrected" if fields["verdict"] == "corrected" else "printed"] or [None])[-1]


def of_slack(slack: float | str) -> Data:
    """What a claim has whose bound has this slack."""
    return {"slack": slack, "evidence": [evidence(slack=slack)]}


def failed(**changes: Any) -> Data:
    found = {"x": 2.0, "smaller": 4, "larger": 3}
    return evidence(**{"outcome": "fails", "summary": "Violated at x = 2.", "counterexample": found, **changes})


def corrected(name: str = "ftrl/thm-2", **changes: Any) -> Data:
    """A claim that fails at eta = 0.5 and holds with 2 in place of 3."""
    found = [failed(), evidence(form="corrected", how="proved", summary="Proved symbolically: identity.")]
    fields = {"verdict": "corrected", "reviewed": "corrected", "evidence": found}
    fields |= {"correction": "For $a > 0$, $a^2 = 2 b$.", "ground": "By induction on $b$."}
    fields |= {"severity": "hypothesis", "touches": "statement"}
    fields |= {"finding": "Theorem 2 prints $3 b$; at $eta = 0.5$ it is $2 b$."}
    return claim(name, **{**fields, "consequence": "The lemma falls, the theorem stands.", **changes})


def one_of_each() -> list[Data]:
    """A claim for every verdict and severity, with pictures of every role, in two topics."""
    bounds = (series("SGD", "upper", y=[3.0, 30.0, 300.0]), series("SGD", "lower", y=[1.0, 10.0, 100.0]))
    drawn = picture(series(), simulated(), *bounds, series("SGD", "printed"), series("$nu$-FTRL", y=[1.0, 3.0, 9.0]))
    statistical = evidence(
        how="statistical", picture=drawn | {"slopes": [slope()]}, trials=12000, alpha=3e-9, beta=1e-3, slack=1.0189
    )
    return [
        claim("ftrl/fig-1-left", where="Figure 1, left", evidence=[statistical], how="statistical", slack=1.0189),
        claim("ftrl/rate", where="Table 1", evidence=[evidence(picture=drawn | {"slopes": [slope("nu-FTRL")]})]),
        claim("ftrl/bound", kind="inequality", **of_slack(1.25), remark="For $a$ below 1.", setting="Seed 7, $a = 2$."),
        corrected(),
        corrected("ftrl/false", severity="substantive", finding="Its price is $9$, not $3$."),
        corrected("ftrl/follower", root="ftrl/false", finding="It inherits $9$.", where="Remark 7", equation="(8)"),
        corrected("ftrl/slip", severity="slip", touches="proof", finding="A sign: $-1$ for $1$."),
        claim("ftrl/thm-3", verdict="refuted", finding="Violated at x \\= 2.", evidence=[failed()]),
        claim("ftrl/thm-4", verdict="undecided", finding="about 5000 trials", evidence=[evidence(outcome="unclear")]),
        claim("ftrl/fig-4", verdict="not run", how=None, finding="needs data that nobody has", evidence=[]),
        claim("other/thm-1", seed=1),
    ]


def highlight(sentence: str, *claims: str) -> Data:
    return {"sentence": sentence, "typeset": sentence, "claims": list(claims)}


def topic(name: str = "ftrl", **changes: Any) -> Data:
    """A paper as a third party gives it: nothing but a title."""
    texts = dict.fromkeys(("authors", "venue", "version", "link", "main_picture"), "")
    lists = {key: [] for key in ("stands", "sharper", "figures", "notation")}
    return {"name": name, "title": f"The paper {name}", **texts, **lists, **changes}


def full_topic(name: str = "ftrl", **changes: Any) -> Data:
    """A paper with everything."""
    panel = {"claim": f"{name}/fig-1-left", "title": "Ratio of errors", "typeset": "Ratio of errors"}
    figure = {"name": "Figure 1", "title": "Mean estimation.", "typeset": "Mean estimation.", "panels": [panel]}
    cited = {"authors": "A. Author, B. Writer", "venue": "ICLR 2024", "version": "arXiv v2"}
    fields = {**cited, "link": "https://example.org/paper", "main_picture": f"{name}/fig-1-left", "figures": [figure]}
    fields["stands"] = [highlight("Theorem 1 stands, $a^2 = b$.", f"{name}/bound")]
    fields["sharper"] = [
        highlight("The constant $1.25$ is sharp.", f"{name}/bound", f"{name}/rate"),
        highlight("This one does not hold today.", f"{name}/bound", f"{name}/thm-3"),
    ]
    return topic(name, **{**fields, **changes})


def content(claims: list[Data], topics: list[Data] | None = None) -> Data:
    names = dict.fromkeys(item["topic"] for item in claims if isinstance(item.get("topic"), str))
    papers = [full_topic(name) if name == "ftrl" else topic(name) for name in names] if topics is None else topics
    body = {"versions": {"numpy": "2.0.0", "python": "3.11.7"}, "topics": papers, "claims": claims}
    return {"format": FORMAT, "checksum": checksum(body), **body}


def write(folder: Path, claims: list[Data], topics: list[Data] | None = None) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(content(claims, topics)), encoding="utf-8")
    run = {"date": "2026-01-31", "machine": "Linux x86_64", "seconds": {}}
    path.with_name("run.json").write_text(json.dumps(run), encoding="utf-8")
    return path


def results(folder: Path, claims: list[Data], topics: list[Data] | None = None) -> Results:
    return read(write(folder, claims, topics))
