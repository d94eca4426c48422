"""Asks every route as every role in every namespace: `python -m tests.access`."""

import os
import subprocess
import sys

from tests.hypothesis_profiles import DEPTH_VARIABLE, FULL

COMMAND = ("-m", "pytest", "-q", "-s", "-m", "nightly", "-p", "no:randomly", "--durations=0")
WHOLE = "tests/access/test_matrix.py"

if __name__ == "__main__":
    environment = {**os.environ, DEPTH_VARIABLE: FULL}
    sys.exit(subprocess.call((sys.executable, *COMMAND, WHOLE), env=environment))
