"""The command line in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = "import sys; from verify.cli import main; sys.exit(main())"


def dpbounds(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], cwd=cwd, capture_output=True, text=True, timeout=300
    )
