"""What Sphinx is told; `docs.building` runs it on a folder of pages that it wrote."""

import json
import os
import re
import sys
import unicodedata
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.parsers import Parser
from sphinx.search.en import SearchEnglish

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
BUILD = json.loads(os.environ["DPBOUNDS_DOCS"])

project, copyright, author = "dpbounds", "dpbounds developers", "dpbounds developers"
version = release = version_of("dpbounds")
extensions = BUILD["extensions"]
source_suffix = {".page": "page", ".md": "myst-nb" if "myst_nb" in extensions else "markdown"}
exclude_patterns = ["_extra"]
html_theme, html_title = "furo", "dpbounds"
html_theme_options = {"announcement": BUILD["announcement"]}
html_extra_path, html_static_path = [BUILD["extra"]], [str(HERE / "static"), BUILD["static"]]
html_search_scorer = str(HERE / "static" / "scorer.js")
html_css_files = ["typst.css", "style.css"]
html_js_files = [("claims.js", {"defer": "defer"})]
html_copy_source = html_show_sourcelink = False
html_domain_indices = html_use_index = smartquotes = False
nb_execution_mode, nb_execution_raise_on_error, nb_execution_timeout = "force", True, 120
nb_execution_show_tb = nb_merge_streams = True
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
pygments_style, pygments_dark_style = "a11y-high-contrast-light", "a11y-high-contrast-dark"


class PageParser(Parser):
    """A page that `docs.building` wrote: a title, and its inside as HTML, which the search index reads too."""

    supported = ("page",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Fill the document."""
        content = json.loads(inputstring)
        section = nodes.section(ids=["top"], names=["top"])
        section += nodes.title("", content["title"])
        section += nodes.raw("", content["html"], format="html")
        document += section
        document["listed"] = content["listed"]


class Words(SearchEnglish):
    r"""English, where a letter of a formula is a word: `\eta_T` is eta and T, a Greek letter is a word by itself."""

    js_splitter_code = r"""
var splitQuery = (query) =>
  query
    .normalize("NFKC")
    .replace(/[\u0370-\u03ff]/g, " $& ")
    .split(/[^\p{Letter}\p{Number}]+/gu)
    .filter((term) => term);
"""

    def split(self, input: str) -> list[str]:
        """The same for the index."""
        text = re.sub(r"[\u0370-\u03ff]", r" \g<0> ", unicodedata.normalize("NFKC", input))
        return re.findall(r"[^\W_]+", text)


def leave_out(app: Sphinx, document: nodes.document) -> None:
    """A claim is in no table of contents: its paper's page lists it."""
    if document.get("listed") is False:
        app.env.metadata[app.env.current_document.docname]["orphan"] = True


def setup(app: Sphinx) -> dict[str, bool]:
    """Pages of our own are read, and written, by several processes."""
    app.add_source_parser(PageParser)
    app.add_search_language(Words)
    app.connect("doctree-read", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
