"""Paper `ols`."""

from pathlib import Path

from verify.statements.highlights import highlights
from verify.statements.topics import Topic

TOPIC = Topic(
    name="ols",
    package="verify.papers.ols",
    title="Near-optimal private linear regression via iterative Hessian mixing",
    authors="O. Lev, M. Shenfeld, V. Srinivasan, K. Ligett, A. C. Wilson",
    venue="Massachusetts Institute of Technology and The Hebrew University of Jerusalem",
    version="the text with appendices A to L",
    link="https://github.com/omrilev1/HessianMix",
    sources=("dpbounds.ols", "simulators.ols", "verify.papers.ols"),
    solve="verify.cli.solve.ols",
    fit="verify.cli.fit.ols",
    summary="DP least squares: AdaSSP, Gaussian mixing, iterative Hessian mixing",
    main_picture="ols/beyond-stand-ins",
    **highlights(Path(__file__)),
)
