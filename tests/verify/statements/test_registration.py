"""What is wrong with a claim or a topic is an error when it is stated, which names the claim and the field."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from dpbounds import DomainError
from tests.reports.test_reader import PROGRAMS
from verify.checks import Agreement, Fact, Identity, Inequality, Survey, Times
from verify.checks.domains import Real
from verify.statements.claims import Claim, Correction, Fault
from verify.statements.markup import check_compiled, check_markup
from verify.statements.topics import Figure, Highlight, Panel, Topic

FAULT = Fault(severity="slip", touches="statement", finding="It is ${x}$.", consequence="None.")


def left(m, x):
    return x


def replaced(**fields) -> tuple[Identity]:
    """The check with an impostor that replaces these."""
    return (replace(IDENTITY, impostors={"bad": fields}),)


def facts(rng, sign=1):
    return [Fact("one", sign, 1.0)]


IDENTITY = Identity(left=left, right=left, box={"x": Real(1.0, 2.0)})
AGREEMENT = Agreement(facts=facts)


def claim(**fields) -> Claim:
    given = {
        "id": "a/one",
        "where": "here",
        "page": 1,
        "kind": "identity",
        "statement": "$x = x$.",
        "checks": (IDENTITY,),
    }
    return Claim(**{**given, **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "theorem"}, "kind of a/one = theorem .*one of identity, "),
        ({"fault": replace(FAULT, severity="serious")}, "severity of a/one = serious .*one of substantive, "),
        ({"fault": replace(FAULT, touches="all")}, "touches of a/one = all .*one of statement, "),
        ({"fault": replace(FAULT, finding=" ")}, "finding of a/one"),
        ({"fault": replace(FAULT, exhibit=1)}, "exhibit of a/one = 1 .*below 1"),
        ({"fault": replace(FAULT, finding="It is ${y}$.")}, r"finding of a/one = \{y\} .*one of "),
        ({"fault": replace(FAULT, finding="It is {x}.")}, r"finding of a/one = \{x\} .*between dollar signs"),
        ({"fault": replace(FAULT, finding="It is ${x$.")}, r"finding of a/one = It is .*\{name:digits\}"),
        ({"fault": replace(FAULT, finding="It is ${x:.3f}$.")}, r"finding of a/one = It is .*\{name:digits\}"),
        ({"fault": replace(FAULT, finding="It is ${}$.")}, r"finding of a/one = It is .*\{name:digits\}"),
        ({"statement": "$x = x."}, "statement of a/one = .*in pairs"),
        ({"remark": "$\\alpha$"}, r"remark of a/one = .*\\alpha is unknown.*without a backslash"),
        ({"setting": "$\x0crac(1, 2)$"}, "setting of a/one = .*control characters.*twice"),
        ({"hypotheses": "$sqrt(x$"}, r"hypotheses of a/one = .*close sqrt\("),
        (
            {"fault": FAULT, "correction": Correction(statement="$x_$", checks=(IDENTITY,))},
            "correction of a/one = .*escape",
        ),
        ({"remark": "For $x >= 12$."}, r"remark of a/one = 12 .*write \{name\}"),
        ({"remark": "It is $1.5$.", "setting": "$1.5$"}, "remark of a/one = 1.5 .*computed"),
        ({"fault": replace(FAULT, finding="It is $0.78$.")}, "finding of a/one = 0.78 "),
        ({"fault": replace(FAULT, consequence="Half of 1,024.")}, "consequence of a/one = 1,024 "),
        (
            {"fault": FAULT, "correction": Correction(statement=("$x = x$;", "$x <= 1.2$."), checks=())},
            "correction of a/one = 1.2 ",
        ),
        (
            {"fault": FAULT, "correction": Correction(statement="$x = x$.", ground="$x <= 33$.", checks=())},
            "ground of a/one = 33 ",
        ),
        ({"checks": (replace(IDENTITY, level="fast"),)}, "level of check 0 of a/one as printed = fast"),
        (
            {"checks": (replace(IDENTITY, impostors={"bad": {"lefd": left}}),)},
            "impostor 'bad' of check 0 of a/one .*lefd",
        ),
        ({"checks": replaced()}, "impostor 'bad' of check 0 of a/one"),
        (
            {"checks": (replace(IDENTITY, impostors={"5": {"digits": Times(2)}}),)},
            "impostor '5' of .*digits .*no function",
        ),
        ({"checks": (replace(AGREEMENT, impostors={"-": {"facts": {"sing": -1}}}),)}, "facts = sing .*rng, sign"),
        ({"checks": (Survey(settings={"one": replaced(lefd=left)[0]}),)}, "setting 'one' = lefd"),
    ],
)
def test_what_is_wrong_is_named(fields, message):
    with pytest.raises(DomainError, match=message):
        claim(**fields)


def test_what_is_right_is_taken():
    assert claim(fault=replace(FAULT, finding="At $x = {x:3}$ it is ${left}$, not {{so}}.")).reviewed == "refuted"
    later = Inequality(smaller=left, larger=left, box={"y": Real(0.0, 1.0)}, certify=False)
    assert claim(checks=(IDENTITY, later), fault=replace(FAULT, finding="${y}$ and ${larger}$.", exhibit=1))
    whatever = claim(checks=(AGREEMENT,), fault=replace(FAULT, finding="Known when it is run: ${number}$."))
    assert whatever.checks[0].counterexample_names() is None
    assert claim(
        statement="$x = 0.78$.", equation="(66)", remark="Not (66), nor $0.78$; at $n = {n}$.", given={"n": 99}
    )
    assert claim(checks=(replace(AGREEMENT, impostors={"sign": {"facts": {"sign": -1}}}),))


@pytest.mark.parametrize(
    "text",
    [
        "Number \\#1, the std. of $x$",
        "$(0, 1]$ and $[0, 1)$",
        "costs \\$5",
        "`$`",
        '$"a $ b"$',
        "$sqrt( [0, 1) )$",
        "a_b",
        "",
    ],
)
def test_markup_that_compiles_is_taken(text):
    check_markup("text", text)
    check_compiled([("a/one", "statement", text)])


@pytest.mark.parametrize("text", PROGRAMS)
def test_code_is_no_text_for_claims_as_for_reports(text):
    with pytest.raises(DomainError, match=r"(?s)text = .*markup without code"):
        check_markup("text", text)


def test_what_only_the_compiler_sees_is_named():
    texts = [("a/one", "statement", "$alpha$"), ("a/two", "remark", "$alhpa$")]
    with pytest.raises(DomainError, match=r"remark of a/two = \$alhpa\$ .*unknown variable: alhpa"):
        check_compiled(texts)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"stands": (Highlight(sentence="So.", claims=("x/no",)),)}, "stands of topic x = x/no"),
        ({"sharper": (Highlight(sentence="So.", claims=("x/no",)),)}, "sharper of topic x = x/no"),
        ({"main_picture": "x/no"}, "main_picture of topic x = x/no"),
        (
            {"figures": (Figure(name="Figure 1", title="One", panels=(Panel(claim="x/no", title="Left"),)),)},
            "panel of Figure 1 of topic x = x/no",
        ),
    ],
)
def test_a_topic_names_claims_that_there_are(fields, message, tmp_path, monkeypatch):
    (tmp_path / "named" / "claims").mkdir(parents=True)
    for file in ("named/__init__.py", "named/claims/__init__.py"):
        (tmp_path / file).write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DomainError, match=message):
        assert Topic(name="x", package="named", sources=("named",), title="X", **fields).claims


ROOTS = """
from verify import Claim, Fault

def _claim(name, severity="slip", root=""):
    fault = None
    if severity:
        fault = Fault(severity=severity, touches="text", finding="No.", consequence="None.", root=root)
    return Claim(id=f"x/{name}", where="", page=1, kind="number", statement="So.", not_run="No.", fault=fault)

"""


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ('_claim("a", root="x/no"),', "root of x/a = x/no "),
        ('_claim("a", root="x/b"), _claim("b", "")', "root of x/a = x/b .*a claim with a fault that has no root"),
        ('_claim("a", root="x/b"), _claim("b", root="x/c"), _claim("c")', "root of x/a = x/b "),
        ('_claim("a", root="x/a"),', "root of x/a = x/a "),
        ('_claim("a", "hypothesis", "x/b"), _claim("b")', "severity of x/a = hypothesis .*of its root x/b, slip"),
    ],
)
def test_a_root_falls_by_itself_and_is_as_serious(tmp_path, monkeypatch, claims, message):
    (tmp_path / "rooted" / "claims").mkdir(parents=True)
    (tmp_path / "rooted" / "__init__.py").write_text("")
    (tmp_path / "rooted" / "claims" / "__init__.py").write_text("")
    (tmp_path / "rooted" / "claims" / "s1_one.py").write_text(f"{ROOTS}ALL = ({claims})\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "rooted"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(DomainError, match=message):
        assert Topic(name="x", package="rooted", sources=("rooted",), title="X").claims


@pytest.mark.parametrize("name", ["Warner", "two words", "a/b", "", "1a"])
def test_a_topic_has_a_name_for_the_command_line(name):
    with pytest.raises(DomainError, match="name of a topic"):
        Topic(name=name, package="x", sources=(), title="X")


def test_a_topic_is_typst():
    with pytest.raises(DomainError, match=r"stands of topic x = .*in pairs"):
        Topic(name="x", package="x", sources=(), title="X", stands=(Highlight(sentence="$x", claims=()),))
