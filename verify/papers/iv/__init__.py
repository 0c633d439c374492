"""Paper `iv`."""

from pathlib import Path

from verify.statements.highlights import highlights
from verify.statements.topics import Topic

TOPIC = Topic(
    name="iv",
    package="verify.papers.iv",
    title="Differentially private two-stage gradient descent for instrumental variable regression",
    authors="Anonymous authors",
    venue="Paper under double-blind review",
    version="the text with line numbers, appendices A to G",
    link="https://arxiv.org/abs/2509.22794",
    sources=("dpbounds.iv", "simulators.iv", "verify.papers.iv"),
    solve="verify.cli.solve.iv",
    summary="DP two-stage gradient descent for instrumental variables",
    main_picture="iv/fig-2",
    **highlights(Path(__file__)),
)
