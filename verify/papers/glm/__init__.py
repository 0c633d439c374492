"""Paper `glm`."""

from pathlib import Path

from verify.statements.highlights import highlights
from verify.statements.topics import Topic

TOPIC = Topic(
    name="glm",
    package="verify.papers.glm",
    title="Generalized linear models in non-interactive local differential privacy with public data",
    authors="D. Wang, L. Hu, H. Zhang, M. Gaboardi, J. Xu",
    venue="King Abdullah University of Science and Technology, Cornell, Boston and Buffalo; first in part at ALT 2021",
    version="the text with appendices A to D",
    link="https://hdl.handle.net/2144/44933",
    sources=("dpbounds.glm", "simulators.glm", "verify.papers.glm"),
    solve="verify.cli.solve.glm",
    fit="verify.cli.fit.glm",
    summary="GLMs in non-interactive local DP with public data",
    main_picture="glm/exp-slope-p",
    **highlights(Path(__file__)),
)
