"""`python -m dpbounds`: the console script of this distribution, for where the script itself is not on the path."""

import sys
from importlib.metadata import entry_points

if __name__ == "__main__":
    (script,) = entry_points(group="console_scripts", name="dpbounds")
    sys.exit(script.load()())
