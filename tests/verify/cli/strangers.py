"""Packages of somebody else's, as `pip install` leaves them, and the command in a process that has them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from tests.verify.cli.commands import SCRIPT, SECONDS

ROOT = Path(__file__).resolve().parents[3]
TOPIC = """
    from verify import Topic

    TOPIC = Topic(name="other", package="other", sources=("other",), title="Other")
"""
CLAIM = """
    from verify import Claim
    from verify.checks import Agreement, Fact, Times

    ONE = Claim(
        id="other/one", where="Theorem 1", kind="number", statement="$1 = 1$.",
        checks=(Agreement(facts=lambda rng: [Fact("one", 1.0, 1.0)], impostors={"5 % off": {"facts": Times(1.05)}}),),
    )
"""
WHOLE = {"other/__init__.py": TOPIC, "other/claims/__init__.py": "", "other/claims/s1_one.py": CLAIM}


def install(site: Path, files: Mapping[str, str], value: str = "other:TOPIC") -> None:
    """A package called other, with its entry point."""
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(dedent(text))
    about = site / "other-1.0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[dpbounds.claims]\nother = {value}\n")


def dpbounds(*words: str, site: Path, cwd: Path, cache: Path | None = None, **more: str) -> subprocess.CompletedProcess:
    """`dpbounds WORDS` where the packages in `site` are installed; with a cache folder of its own if one is given."""
    environment = os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}", **more}
    environment |= {} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", SCRIPT, *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=SECONDS)
