"""Proof files of claims: which checks have one, and why the others have none.

An inequality that is certified becomes `boxes`, directly or by a factor that is divided out; one that is violated, and
an identity that fails, a `point`, or an `integral` where a side is one; an identity of rational functions `generic`,
and what computer algebra proved that, `sign` or `squares`. A form of a claim all of whose proofs have files becomes a
`derivation` from them: by the lemmas of its written chain where it has one. A file names the code that it is of, and is
kept while that is the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpbounds import DomainError
from simulators.engine import seed_sequence
from verify import proof_checker as checker
from verify.checks import Identity, Inequality, Symbolic
from verify.checks.base import Check, Seed
from verify.checks.domains import Box
from verify.proofs import cutting
from verify.proofs.algebra import of_symbolic
from verify.proofs.tracing import Trace, Untraceable, accepted, traced
from verify.running.registry import topics
from verify.running.store import write_whole
from verify.running.versions import code_version
from verify.statements.claims import Claim
from verify.statements.clauses import whole
from verify.statements.derivations import Derivation
from verify.statements.plain import plain

# Bits of intervals, and where sides meet at the rim of the range of floats.
BITS, FINE_BITS = 112, 1200
# Parts that are tried before a factor is, with one, then without, and with the fine bits.
DIRECT, TIED, MOST, FINE = 1000, 2500, 4000, 300
# Halvings of the range of an integral, in the order in which they are tried.
HALVINGS = (5, 8, 10)
# Kinds that prove what their check says; the others refute it.
HOLDING = ("boxes", "generic", "sign", "squares")
Data = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one check, or of a form of a claim (then `check` is None): the name of its file, or why none;
    whether it is a check that certifies.
    """

    claim: str
    form: str
    check: int | None
    certified: bool = False
    kind: str = ""
    file: str = ""
    reason: str = ""


def write(claims: Sequence[Claim], folder: Path, progress: Callable[[int, int, str], None]) -> list[Outcome]:
    """Write the files of the claims, each whole, and remove those of the same claims that are no longer theirs."""
    kept, outcomes = _existing(folder), []
    for done, claim in enumerate(claims):
        progress(done, len(claims), claim.id)
        outcomes += _written(claim, folder, kept)
    progress(len(claims), len(claims), "")
    named = {outcome.file for outcome in outcomes}
    for (claim, *_), (name, _) in kept.items():
        if claim in {item.id for item in claims} and name not in named:
            (folder / name).unlink(missing_ok=True)
    return outcomes


Key = tuple[str, str, int | None, str]


def _existing(folder: Path) -> dict[Key, tuple[str, str]]:
    """The files that are there, with their kinds, by what they are of."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            content = path.read_bytes()
            data = json.loads(content)
            key = data["claim"], data["form"], data["check"], data["code"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        if path.name == checker.name_of(content):
            found[key] = path.name, data.get("kind", "")
    return found


def _written(claim: Claim, folder: Path, kept: Mapping[Key, tuple[str, str]]) -> Iterator[Outcome]:
    code = code_version(topics()[claim.id.partition("/")[0]])
    for form, checks in claim.forms():
        said = whole(claim.statement if form == "printed" or claim.correction is None else claim.correction.statement)
        about = {"claim": claim.id, "form": form, "code": code, "statement": plain(said)[: checker.MOST_SHOWN]}
        proofs = []
        for number, check in enumerate(checks):
            outcome = _of_check({**about, "check": number}, check, folder, kept)
            if check.role == "proof":
                proofs.append(outcome.file if outcome and outcome.kind in HOLDING else "")
            if outcome:
                yield outcome
        if proofs and all(proofs):
            tree = _tree(f"{claim.id}, {form}", proofs, claim.derivations().get(form))
            name = _put({**about, "check": None, "kind": "derivation", "tree": tree}, folder)
            yield Outcome(claim=claim.id, form=form, check=None, kind="derivation", file=name)


def _tree(place: str, proofs: Sequence[str], derivation: Derivation | None) -> Data:
    """What joins the proofs to the statement: the written chain with its lemmas, or that all of them hold."""
    if derivation is None:
        return {"says": f"every check of {place}, holds", "from": [{"lemma": "conjunction"}, *_leaves("file", proofs)]}
    chain = f"{place}: {plain(derivation.text)}"[: checker.MOST_SHOWN]
    return {"says": chain, "from": [*_leaves("lemma", derivation.lemmas), *_leaves("file", proofs)]}


def _leaves(kind: str, names: Sequence[str]) -> list[Data]:
    return [{kind: name} for name in names]


def _of_check(about: Data, check: Check, folder: Path, kept: Mapping[Key, tuple[str, str]]) -> Outcome | None:
    """The file of one check; None for a check of a kind that has none."""
    if not isinstance(check, (Inequality, Identity, Symbolic)):
        return None
    key = about["claim"], about["form"], about["check"]
    known = kept.get((*key, about["code"]))
    certified = isinstance(check, Symbolic) or (isinstance(check, Inequality) and check.certify)
    place = {**dict(zip(("claim", "form", "check"), key, strict=True)), "certified": certified}
    if known and (folder / known[0]).exists():
        return Outcome(**place, file=known[0], kind=known[1])
    try:
        proof = _proof(check)
    except (Untraceable, cutting.Resists) as error:
        return Outcome(**place, reason=str(error))
    return Outcome(**place, file=_put({**about, **proof}, folder), kind=proof["kind"])


def _proof(check: Inequality | Identity | Symbolic) -> Data:
    if isinstance(check, Inequality):
        return of_inequality(check)
    return of_identity(check) if isinstance(check, Identity) else of_symbolic(check)


def content_of(data: Data) -> bytes:
    """A file's content."""
    return json.dumps({"format": checker.FORMAT, **data}, ensure_ascii=False).encode()


def _put(data: Data, folder: Path) -> str:
    content = content_of(data)
    name = checker.name_of(content)
    try:
        if not (folder / name).is_file() or (folder / name).read_bytes() != content:
            write_whole(folder / name, content)
    except OSError as error:
        raise DomainError("proofs", folder, "a folder that can be written", error.strerror or str(error)) from None
    return name


# --- inequalities ---


def of_inequality(check: Inequality) -> Data:
    """`boxes`, or the `point` at which it is violated; `Untraceable` or `cutting.Resists` says why none."""
    violation = _violation(check)
    if violation is not None:
        point = {name: violation[name] for name in check.box}
        return at_point(point, check.larger, check.smaller, "<")
    if not check.certify:
        raise Untraceable("it is searched, not certified")
    trace = Trace(list(check.box))
    larger, smaller = traced(trace, check.larger), traced(trace, check.smaller)
    names, scales, box = _sides(check.box)
    shared = {
        "kind": "boxes",
        "variables": [[n, str(a), str(b), s] for n, s, (a, b) in zip(names, scales, box, strict=True)],
    }
    resists = None
    for most, bits, tie in _ways(trace, check, larger, smaller):
        program = checker.Program(trace.steps, names)
        data = {**shared, "steps": list(trace.steps), "smaller": smaller, "larger": larger, "bits": bits}
        data |= dict(zip(("factor", "certificate"), tie, strict=True)) if tie else {}
        inequality = checker.Inequality(program, bits, (larger, smaller), b"", tie or ())
        try:
            cuts = cutting.cuts(inequality, box, scales, most)
        except cutting.Resists as error:
            resists = resists or error
            continue
        return {**data, "cuts": cuts}
    raise resists or cutting.Resists("there is no way to begin")


def _ways(
    trace: Trace, check: Inequality, larger: int, smaller: int
) -> Iterator[tuple[int, int, tuple[int, int] | None]]:
    """Parts at most, bits, and the steps of factor and certificate, in the order in which they are tried."""
    authored = _authored(trace, check)
    if authored and _tied(trace, larger, smaller, *authored):
        yield TIED, BITS, authored
    yield DIRECT, BITS, None
    cleared = _cleared(trace, larger, smaller)
    if cleared and _tied(trace, larger, smaller, *cleared):
        yield TIED, BITS, cleared
    yield MOST, BITS, None
    yield FINE, FINE_BITS, None


def _authored(trace: Trace, check: Inequality) -> tuple[int, int] | None:
    """Factor and certificate of the check."""
    if check.factor is None or check.certificate is None:
        return None
    try:
        return traced(trace, check.factor), traced(trace, check.certificate)
    except Untraceable:
        return None


def _cleared(trace: Trace, larger: int, smaller: int) -> tuple[int, int] | None:
    """The difference of two quotients over their denominators."""
    (a, b), (c, d) = (_quotient(trace, place) for place in (larger, smaller))
    if b is None and d is None:
        return None
    one = trace.number(1)
    b, d = (one if below is None else below for below in (b, d))
    return (1 / (b * d)).place, (a * d - c * b).place


def _quotient(trace: Trace, place: int) -> tuple[Any, Any]:
    step = trace.steps[place]
    return (trace.at(step[1]), trace.at(step[2])) if step[0] == "div" else (trace.at(place), None)


def _tied(trace: Trace, larger: int, smaller: int, factor: int, certificate: int) -> bool:
    """Whether larger - smaller is factor * certificate, as the checker will find it."""
    residues = checker.Residues(json.dumps(trace.steps).encode())
    try:
        value = residues.values(checker.Program(trace.steps, trace.variables))
    except checker.Refused:
        return False
    return (value[larger] - value[smaller] - value[factor] * value[certificate]) % residues.prime == 0


def _sides(box: Box) -> tuple[list[str], list[str], checker.Box]:
    sides = tuple((Fraction(domain.low), Fraction(domain.high)) for domain in box.values())
    return list(box), ["linear" if domain.scale == "linear" else "log" for domain in box.values()], sides


# --- points and identities ---

SEED = Seed(0, seed_sequence(["proofs"], seed=0))


def _violation(check: Inequality) -> Mapping[str, Any] | None:
    return replace(check, certify=False, certificate=None, factor=None).run({}, SEED)["violation"]


def at_point(point: Mapping[str, float], left: Any, right: Any, sign: str) -> Data:
    """The relation of both sides at a point: by fractions where they can, else by enclosures."""
    named = [[name, str(Fraction(value))] for name, value in point.items()]
    for halvings in HALVINGS:
        trace = Trace(list(point), halvings)
        relation = [sign, traced(trace, left), traced(trace, right)]
        data = {"point": named, "steps": trace.steps, "relations": [relation]}
        enclosed = [{"kind": "point", **data, "bits": bits} for bits in (BITS, FINE_BITS)]
        proofs = [{"kind": "exact", **data}, *enclosed]
        if trace.integrates:
            over = next(name for name in ("u", *(f"u{k}" for k in range(len(point)))) if name not in point)
            proofs = [{**enclosed[0], "kind": "integral", "over": over}]
        found = next(filter(accepted, proofs), None)
        if found is not None:
            return found
        if not trace.integrates:
            break
    raise Untraceable("the sides are too close to be told apart")


def of_identity(check: Identity) -> Data:
    """`generic`, or the `point` at which the sides differ."""
    trace = Trace(list(check.box))
    reason = "the sides agree at points, and are not equal as rational functions"
    try:
        left, right = traced(trace, check.left), traced(trace, check.right)
    except Untraceable as error:
        reason = str(error)
    else:
        proof = {"kind": "generic", "variables": trace.variables, "steps": trace.steps, "equal": [[left, right]]}
        if accepted(proof):
            return proof
    failure = check.run({}, SEED)["failure"]
    if failure is None:
        raise Untraceable(reason)
    return at_point({name: failure[name] for name in check.box}, check.left, check.right, "!=")
