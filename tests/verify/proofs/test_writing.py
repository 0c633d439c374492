"""Proof files of claims: traced again they say the same, impostors have none, and the folder is kept in order."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from dpbounds.arithmetic import balls
from verify import proof_checker as checker
from verify.checks import Identity, Inequality, Symbolic
from verify.checks.domains import Real
from verify.cli import main
from verify.proofs import writing
from verify.proofs.algebra import of_symbolic
from verify.proofs.cutting import Resists
from verify.proofs.tracing import Trace, Untraceable, accepted, traced
from verify.running.registry import claim_named

# Of every kind of file, and quick: with a factor, an exact corner, many bits, elliptic integrals, two parameters.
CLAIMS = ("iv/eq-5", "iv/lem-d.3", "ols/lem-3", "ftrl/eq-32-bound", "ftrl/thm-2.1-rate", "ftrl/thm-3.1")
# What computer algebra proved: identities, signs, matrices, a written chain with its lemmas, a residual that is not 0.
ALGEBRA = ("glm/lem-6", "glm/lem-33-trace", "iv/prop-3.1b", "ols/def-gradient")
IMPOSTORS = (*CLAIMS[:5], "ftrl/tab-2-nu", "ftrl/cor-d.15-gamma", "ftrl/lem-c.21-i", "ols/lem-7", "ols/eq38")


def checks_of(name, kind):
    for form, checks in claim_named(name).forms():
        for number, check in enumerate(checks):
            if isinstance(check, kind):
                yield form, number, check


def test_what_is_written_is_accepted_and_traced_again_the_same(tmp_path):
    claims = [claim_named(name) for name in (*CLAIMS, *ALGEBRA)]
    outcomes = writing.write(claims, tmp_path, lambda *_: None)
    assert {item.kind for item in outcomes if item.file} >= {"boxes", "exact", "generic", "sign", "derivation"}
    folder = checker.Folder(tmp_path)
    for item in outcomes:
        if not item.file:
            continue
        verdict, said = folder.verdict(item.file)
        assert verdict == "accepted", said
        data = json.loads((tmp_path / item.file).read_bytes())
        if item.check is None:
            continue
        check = dict(claim_named(item.claim).forms())[item.form][item.check]
        if isinstance(check, Inequality) and data["kind"] == "boxes":
            trace = Trace(list(check.box))
            sides = traced(trace, check.larger), traced(trace, check.smaller)
            assert sides == (data["larger"], data["smaller"])
            assert data["steps"][: len(trace.steps)] == trace.steps
            ends = [[Fraction(low), Fraction(high)] for _, low, high, _ in data["variables"]]
            assert ends == [[domain.low, domain.high] for domain in check.box.values()]
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(times) == sum(bool(item.file) for item in outcomes)
    writing.write(claims, tmp_path, lambda *_: None)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == times


def test_a_written_chain_becomes_a_file_that_names_its_lemmas(tmp_path):
    claim = claim_named("glm/lem-33-trace")
    files = {(item.form, item.check): item.file for item in writing.write([claim], tmp_path, lambda *_: None)}
    tree = json.loads((tmp_path / files["corrected", None]).read_bytes())["tree"]
    assert tree["from"] == [{"lemma": "spectral theorem"}, {"file": files["corrected", 1]}]
    assert "eigenbasis" in tree["says"]
    (tmp_path / files["corrected", 1]).unlink()
    assert checker.Folder(tmp_path).verdict(files["corrected", None])[0] == "refused"


@pytest.mark.parametrize("name", ALGEBRA)
def test_no_impostor_of_algebra_has_a_proof(name):
    for _, _, check in checks_of(name, Symbolic):
        for impostor in check.impostors:
            try:
                assert of_symbolic(check.impostor(impostor))["kind"] == "exact"
            except Untraceable as error:
                assert "sees no identity" in str(error)


@pytest.mark.parametrize("name", IMPOSTORS)
def test_no_impostor_of_a_proved_check_has_a_proof(name):
    for _, _, check in checks_of(name, Inequality):
        for impostor in check.impostors if check.certify else ():
            assert writing.of_inequality(check.impostor(impostor))["kind"] in ("point", "exact")
    for _, _, check in checks_of(name, Identity):
        for impostor in check.impostors:
            with_file = writing.of_identity(check.impostor(impostor))
            assert with_file["kind"] in ("point", "exact")


def test_a_step_is_what_the_formula_is():
    """Values of the steps hold what balls give."""
    for name in ("iv/eq-5", "ftrl/beyond-privacy-curve", "ftrl/tab-1-nu", "ftrl/lem-c.21-ii", "glm/thm-20-c"):
        for _, _, check in checks_of(name, Inequality):
            trace = Trace(list(check.box))
            try:
                place = traced(trace, check.larger)
            except Untraceable:
                continue
            m = checker.Intervals(112)
            point = [Fraction(domain.low) + Fraction(domain.high - domain.low) / 4 for domain in check.box.values()]
            values = checker.Program(trace.steps, trace.variables).values(m, [m.ratio(x) for x in point], {})
            with balls(200) as arithmetic:
                numbers = {key: arithmetic.number(x) for key, x in zip(check.box, point, strict=True)}
                true = check.larger(arithmetic, **numbers)
                low, high = (arithmetic.number(Fraction(end[0]) * Fraction(2) ** end[1]) for end in values[place])
                assert not true < low and not true > high


def test_formulas_that_steps_cannot_say():
    untraceable = (
        lambda m, x: x if x < 1 else 2 * x,
        lambda m, x: float(x),
        lambda m, x: m.ndtri(x),
        lambda m, x: m.integral(lambda s: s * x),
        lambda m, x: x.mid(),
        lambda m, x: m.number("x"),
        lambda m, x: x + True,
        lambda m, x: sum((x + k for k in range(3000)), start=x),
    )
    for formula in untraceable:
        with pytest.raises(Untraceable):
            traced(Trace(["x"]), formula)


def test_an_identity_with_an_integral_that_fails_has_a_file():
    """The integral of 1 / (1 + b s), s = sin^2(omega / 2), is 2 pi / sqrt(1 + b), which is not 2 pi / (1 + b)."""

    def integral(m, b):
        return m.integral(lambda s: 1 / (1 + b * s))

    false = Identity(left=integral, right=lambda m, b: 2 * m.pi / (1 + b), box={"b": Real(0.1, 9.0)})
    proof = writing.of_identity(false)
    assert proof["kind"] == "integral" and accepted(proof)
    assert not accepted({**proof, "relations": [["=", *proof["relations"][0][1:]]]})
    evidence = false.conclude([false.run({}, writing.SEED)], "quick")
    assert evidence.outcome == "fails" and evidence.how == "certified at points"
    for factor, reason in ((1, "no integral"), (1 + 1e-9, "too close"), (1 - 1e-9, "too close")):
        near = replace(false, right=lambda m, b, factor=factor: 2 * factor * m.pi / m.sqrt(1 + b))
        with pytest.raises(Untraceable, match=reason):
            writing.of_identity(near)
    both = replace(false, right=lambda m, b: m.integral(lambda s: b + s))
    with pytest.raises(Untraceable, match="more than one"):
        writing.of_identity(both)


def test_what_no_cuts_decide():
    check = Inequality(smaller=lambda m, x: 4 * x * x, larger=lambda m, x: x**4 + 4, box={"x": Real(1.0, 2.0)})
    with pytest.raises(Resists, match="x in"):
        writing.of_inequality(check)


def test_the_command(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "proofs"
    assert main(["verify", "iv/eq-5", "--proofs", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "1 of 1 claims" in said and "2 boxes" in said and "0 have none" in said
    assert checker.main([str(folder)]) == 0
    files = sorted(folder.iterdir())
    file = files[0]
    old = checker.name_of(file.read_bytes().replace(b'"code": "', b'"code": "old'))
    (folder / old).write_bytes(file.read_bytes().replace(b'"code": "', b'"code": "old'))
    assert main(["verify", "iv/eq-5", "--proofs", str(folder)]) == 0 and sorted(folder.iterdir()) == files
    assert main(["verify", "glm/thm-26", "--proofs", str(folder)]) == 0
    assert "'mid'" in capsys.readouterr().out
    assert main(["verify", "iv/eq-5", "--proofs", str(file)]) == 2
    assert main(["verify", "iv/eq-5", "--proofs", str(tmp_path / "no" / "where")]) == 2
    assert main(["verify", "iv/eq-5", "--proofs", str(folder), "--impostors"]) == 2
    assert "left out with --impostors" in capsys.readouterr().err

    def interrupted(path, content):
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "write_whole", interrupted)
    assert main(["verify", "iv/eq-6", "--proofs", str(folder)]) == 130 and sorted(folder.iterdir()) == files
