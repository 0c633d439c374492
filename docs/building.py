"""The site from a results file: pages written, Sphinx run on them, the outcome checked and put in place."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import typst
from markupsafe import Markup

from docs import checking, linking
from docs.reference import add_reference, addresses
from docs.verdicts import TEMPLATES, pages_of, site_of
from reports.reader import read
from reports.results import Results
from reports.text import counted, one_line
from verify import proof_checker
from verify.cli.reporting import accepted, files_of
from verify.running.registry import index_of, topics
from verify.running.versions import code_version

HERE = Path(__file__).parent
MARKER = ".dpbounds-site"
VERDICTS_ONLY = ("index.md", "verdicts/index.md")
# Lines of Sphinx's own words that are shown.
MOST_LINES = 30


class SiteError(RuntimeError):
    """A site that cannot be built: where, and why."""


def build(results: Path, out: Path, *, proofs: Path | None = None, whole: bool = True) -> int:
    """Write the site into `out` and return the number of its pages; without `whole`, verdicts and gallery only.

    Raises `ReportError` for results or proofs that are damaged or of another format, and `SiteError` for a folder that
    is not ours to write, for warnings of Sphinx, and for pages that break a promise of `docs.checking`. Then `out` is
    as it was.
    """
    check_folder(out)
    found = read(results)
    by_claim = accepted(proofs) if proofs else {}
    entries = (replace(item, proofs=tuple(files_of(item, by_claim))) for item in found.entries)
    found = replace(found, entries=tuple(entries))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _write_sources(place, found, whole)
        if proofs:
            _write(place / "extra" / "proofs.zip", _zipped(proofs))
        _run_sphinx(place, found, whole)
        site = place / "site"
        if whole:
            linking.link(site, addresses())
        checking.seal(site)
        problems = list(checking.problems(site))
        if problems:
            raise SiteError(f"{counted(len(problems), 'problem')}, the first of them: " + "; ".join(problems[:5]))
        (site / MARKER).write_text("", encoding="utf-8")
        _put(site, out)
        return sum(1 for _ in out.rglob("*.html"))


def check_folder(out: Path) -> None:
    """Raise `SiteError` unless the folder is new, empty, or one that was built before."""
    if out.exists() and not (out.is_dir() and (not any(out.iterdir()) or (out / MARKER).exists())):
        raise SiteError(f"out = {out} is not allowed: it must be a new or empty folder, or a site built before")
    if not out.absolute().parent.is_dir():
        raise SiteError(f"out = {out} is not allowed: the folder {out.absolute().parent} must exist")


def notices_of(results: Results) -> list[str]:
    """How the verdicts came about, and what a reader must know where that is not one whole run of this very code."""
    entries = results.entries
    levels = ", ".join(level for level, _ in Counter(entry.level for entry in entries).most_common())
    seeds = ", ".join(str(seed) for seed in sorted({entry.seed for entry in entries}))
    day = f" on {one_line(results.date)}" if results.date else ""
    version = one_line(results.versions.get("dpbounds", "an unknown version"))
    said = [f"Decided at {levels} level, seed {seeds}, by dpbounds {version}{day}."]
    known, foreign, old, part = topics(), [], [], []
    for paper in results.papers:
        own = results.of(paper.name)
        if paper.name not in known:
            foreign.append(paper.name)
            continue
        stale, whole = sum(entry.code != code_version(known[paper.name]) for entry in own), len(index_of(paper.name))
        old += [f"{stale} of {len(own)} of {paper.name}"] * bool(stale)
        part += [f"{len(own)} of {whole} of {paper.name}"] * (len(own) < whole)
    said += [f"Not installed where this site was built: {', '.join(foreign)}."] * bool(foreign)
    said += [f"Old, decided by other sources than these: {', '.join(old)}."] * bool(old)
    said += [f"Not all claims: {', '.join(part)}."] * bool(part)
    return said


def _write_sources(place: Path, results: Results, whole: bool) -> None:
    site = site_of(results)
    site.shared |= {"whole": whole, "own_paper": Markup(_own_paper())}
    if whole:
        add_reference(site)
    source, extra = place / "source", place / "extra"
    for name, text in pages_of(site):
        _write(source / name, text.encode())
    for page in sorted((HERE / "pages").rglob("*.md")):
        name = page.relative_to(HERE / "pages").as_posix()
        if whole or name in VERDICTS_ONLY:
            text = site.environment.from_string(page.read_text(encoding="utf-8")).render(site.at(name))
            _write(source / name, text.encode())
    for name, content in site.files.items():
        _write(extra / name, content)
    shutil.copyfile(results.path, extra / "results.json")
    _write(place / "static" / "typst.css", _style().encode())


def _zipped(proofs: Path) -> bytes:
    """All proof files and the program that checks them; the same bytes for the same files."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        files = {f"proofs/{path.name}": path for path in sorted(proofs.glob("*.json"))}
        for name, path in {"proof_checker.py": Path(proof_checker.__file__), **files}.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
    return written.getvalue()


def _own_paper() -> str:
    """How to add a paper, as CONTRIBUTING.md has it."""
    text = (HERE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition("## Add a paper")[2].partition("## Change theory")[0]


def _style() -> str:
    """The style sheet that belongs to Typst's formulas."""
    page = typst.compile(TEMPLATES / "texts.typ", format="html", sys_inputs={"texts": '["$x$"]'}).decode()
    return page.partition("<style>")[2].partition("</style>")[0]


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _run_sphinx(place: Path, results: Results, whole: bool) -> None:
    content = {
        "announcement": escape(" ".join(notices_of(results))),
        "extra": str(place / "extra"),
        "static": str(place / "static"),
        "extensions": ["myst_nb"] if whole else ["myst_parser"],
    }
    environment = {**os.environ, "DPBOUNDS_DOCS": json.dumps(content), "DPBOUNDS_RESULTS": str(results.path.resolve())}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
    words = ["-b", "html", "-q", "-W", "--keep-going", "-j", "2", "-d", str(place / "trees"), "-c", str(HERE)]
    command: Sequence[str] = [sys.executable, "-m", "sphinx", *words, str(place / "source"), str(place / "site")]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if run.returncode:
        said = [line for line in (run.stderr or run.stdout).splitlines() if not line.startswith("[IPKernelApp]")]
        raise SiteError("\n".join(["Sphinx warns:", *said[-MOST_LINES:]]))


def _put(site: Path, out: Path) -> None:
    """In place of what was there, which goes only when the new one is whole."""
    new = out.with_name(f".{out.name}-{os.getpid()}.new")
    try:
        shutil.copytree(site, new)
        if out.exists():
            shutil.rmtree(out)
        new.rename(out)
    except OSError as error:
        raise SiteError(f"{out}: cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)
