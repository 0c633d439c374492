"""`dpbounds design` without a topic, or with one that has nothing to design."""

from __future__ import annotations

import sys
from argparse import Namespace

from verify.statements.topics import topics


def run(arguments: Namespace) -> int:
    """Say which topics have something."""
    able = ", ".join(name for name, topic in topics().items() if topic.design)
    said = (
        f"topic {arguments.topic} has nothing to design; these have: {able}" if arguments.topic else "TOPIC is needed"
    )
    print(f"dpbounds design: {said} (see dpbounds design --help)", file=sys.stderr)
    return 2
