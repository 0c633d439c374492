"""Paper `ftrl`."""

from pathlib import Path

from verify.statements.highlights import highlights
from verify.statements.topics import Topic

TOPIC = Topic(
    name="ftrl",
    package="verify.papers.ftrl",
    title="Correlated noise provably beats independent noise for differentially private learning",
    authors=(
        "Christopher A. Choquette-Choo, Krishnamurthy (Dj) Dvijotham, Krishna Pillutla, Arun Ganesh, Thomas Steinke, "
        "Abhradeep Guha Thakurta"
    ),
    venue="ICLR 2024",
    version="ICLR 2024 version with appendices",
    link="https://arxiv.org/abs/2310.06771",
    sources=(
        "dpbounds.audit",
        "dpbounds.ftrl",
        "simulators.audit",
        "simulators.ftrl",
        "simulators.noise",
        "verify.papers.ftrl",
    ),
    solve="verify.cli.solve.ftrl",
    check="verify.cli.solve.ftrl.check",
    design="verify.cli.design.ftrl",
    summary="correlated noise for DP-FTRL",
    main_picture="ftrl/fig-1-left",
    **highlights(Path(__file__)),
)
