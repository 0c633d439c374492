"""The worked example of CONTRIBUTING.md is what `dpbounds new-paper warner` writes; the tests of that run it."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from dpbounds.arithmetic import Arithmetic
from verify.cli.new_paper import skeleton

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_every_file_is_shown_as_it_is_written():
    shown = dict(re.findall(r"```(?:toml|python)\n# (\S+)\n(.*?)```", TEXT, re.DOTALL))
    assert shown == {path: text for path, text in skeleton("warner") if not path.endswith(".md")}


def test_all_that_an_arithmetic_offers_is_named():
    offered = {item.name for item in fields(Arithmetic)} - {"name"}
    assert {name for name in offered if not re.search(rf"`{name}\b", TEXT)} == set()


def test_the_names_until_0_2_stay():
    """What packages of others import."""
    import verify
    from verify.claims import Claim, Correction, Fault
    from verify.domains import Real, Whole
    from verify.topics import Figure, Highlight, Panel, Topic

    for thing in (Claim, Correction, Fault, Real, Whole, Figure, Highlight, Panel, Topic):
        assert getattr(verify, thing.__name__) is thing
