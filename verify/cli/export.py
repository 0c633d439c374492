"""`dpbounds verify --export`: the verdicts in the formats that CI systems read.

Refuted is a failure; a claim that was undecided or not run is skipped, in SARIF `open` and `notApplicable`; confirmed
and corrected pass, as they do for the exit status. A computation that broke is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any
from xml.etree import ElementTree

from verify.cli import files
from verify.running.registry import topics
from verify.running.runner import Decision
from verify.statements.plain import plain

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
KINDS = {"confirmed": "pass", "corrected": "pass", "refuted": "fail", "undecided": "open", "not run": "notApplicable"}
# How loudly a refuted claim is told; one that nobody has classified yet is an error too.
LEVELS = {"substantive": "error", "hypothesis": "warning", "slip": "note", None: "error"}
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(form: str, file: str, decided: Sequence[Decision], *, seed: int) -> None:
    """Write the verdicts of this run."""
    files.write("export", file, WRITERS[form](decided, seed).encode())


def junit(decided: Sequence[Decision], seed: int) -> str:
    """JUnit XML, a suite per topic and a case per claim."""
    root = ElementTree.Element("testsuites", name="dpbounds")
    for topic in dict.fromkeys(item.claim.topic for item in decided):
        own = [item for item in decided if item.claim.topic == topic]
        cases = [_case(item) for item in own]
        counts = {name: sum(case.find(tag) is not None for case in cases) for name, tag in TAGS.items()}
        attributes = {"name": topic, "tests": str(len(own)), **{name: str(count) for name, count in counts.items()}}
        suite = ElementTree.SubElement(root, "testsuite", attributes | {"time": _seconds(own)})
        properties = ElementTree.SubElement(suite, "properties")
        ElementTree.SubElement(properties, "property", name="seed", value=str(seed))
        suite.extend(cases)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


TAGS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _case(item: Decision) -> ElementTree.Element:
    claim, verdict = item.claim, item.verdict
    name = {"classname": claim.topic, "name": claim.id, "time": _seconds([item])}
    case = ElementTree.Element("testcase", name)
    said = _xml(_message(item))
    if item.failure:
        ElementTree.SubElement(case, "error", message=said).text = _xml(item.failure)
    elif KINDS[verdict.word] == "fail":
        ElementTree.SubElement(case, "failure", message=said, type=verdict.severity or "new").text = said
    elif KINDS[verdict.word] != "pass":
        ElementTree.SubElement(case, "skipped", message=said)
    elif verdict.word == "corrected":
        ElementTree.SubElement(case, "system-out").text = said
    return case


def sarif(decided: Sequence[Decision], seed: int) -> str:
    """SARIF 2.1.0, a rule and a result per claim."""
    driver = {"name": "dpbounds", "version": version("dpbounds"), "rules": [_rule(item) for item in decided]}
    failed = [item for item in decided if item.failure]
    notes = [{"level": "error", "message": {"text": f"{item.claim.id}: {item.failure}"}} for item in failed]
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": notes}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(index, item) for index, item in enumerate(decided)],
        "properties": {"seed": seed},
    }
    content = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _rule(item: Decision) -> Mapping[str, Any]:
    claim = item.claim
    rule = {
        "id": claim.id,
        "shortDescription": {"text": f"{claim.where}: {plain(claim.stated)}"},
        "properties": {"kind": claim.kind, "paper": topics()[claim.topic].title},
    }
    link = topics()[claim.topic].link
    return {**rule, "helpUri": link} if link else rule


def _result(index: int, item: Decision) -> Mapping[str, Any]:
    claim, verdict = item.claim, item.verdict
    kind = "open" if item.failure else KINDS[verdict.word]
    properties = {"verdict": verdict.word, "how": verdict.how, "refutation": verdict.refutation}
    properties |= {"severity": verdict.severity, "root": verdict.root}
    properties |= {"page": claim.page, "equation": claim.equation, "seconds": round(item.seconds, 3)}
    location = {"fullyQualifiedName": claim.id, "name": claim.where, "kind": "claim"}
    return {
        "ruleId": claim.id,
        "ruleIndex": index,
        "kind": kind,
        "level": LEVELS[verdict.severity] if kind == "fail" else "none",
        "message": {"text": _message(item)},
        "locations": [{"logicalLocations": [location]}],
        "properties": {name: value for name, value in properties.items() if value},
    }


def _message(item: Decision) -> str:
    """The verdict and what is to be said of it."""
    verdict, claim = item.verdict, item.claim
    parts = [f"{claim.where}: {verdict.word}."]
    if verdict.finding:
        parts.append(plain(verdict.finding))
    if verdict.correction:
        parts.append(f"Corrected: {plain(verdict.correction)}")
    parts += [f"No check decides: {plain(clause.text)}" for clause in verdict.open_clauses]
    parts += [plain(text) for text in (verdict.consequence, verdict.remark) if text]
    return " ".join(parts)


def _seconds(items: Sequence[Decision]) -> str:
    return f"{sum(item.seconds for item in items):.3f}"


def _xml(text: str) -> str:
    """Without the characters that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text)


WRITERS: Mapping[str, Callable[[Sequence[Decision], int], str]] = {"junit": junit, "sarif": sarif}
