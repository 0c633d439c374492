"""What draws noise for real: estimators with scikit-learn's conventions, from arrays or data frames.

This is the one place of theory that hands on algorithms; `import dpbounds` does not load it.

- `InstrumentalVariables`: a coefficient with a confidence set that holds, with weak instruments too
- `LinearRegression`: least squares from one private release, with ranges that the user gives
- `LocalGLM`: a survey in local privacy, what each user sends and the coefficients from all that was sent
"""

from simulators.glm.survey import LocalGLM
from simulators.iv.confidence.estimator import InstrumentalVariables
from simulators.ols.estimator import LinearRegression

__all__ = ["InstrumentalVariables", "LinearRegression", "LocalGLM"]
