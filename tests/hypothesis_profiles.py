"""How many examples Hypothesis tries: few in `make test`, many in `make test-nightly`.

`make test` draws new examples at every desk and fixed ones in continuous integration, so that a red
build there is the fault of the change. The nightly run draws them from the seed of its part.
"""

import os
from typing import Final

from hypothesis import settings

DEPTH_VARIABLE: Final = "HEADGATE_TEST_DEPTH"
FULL: Final = "full"
QUICK_EXAMPLES, FULL_EXAMPLES, MIN_EXAMPLES = 20, 400, 10
QUICK_SHARE: Final = 40
"""How many times as many examples the nightly run tries of a test that names only these."""


def load_profile() -> None:
    """Choose the profile by the environment; no deadline, as other tests may keep the CPU busy."""
    fixed = "CI" in os.environ
    settings.register_profile(
        "quick", max_examples=QUICK_EXAMPLES, deadline=None, derandomize=fixed
    )
    settings.register_profile("full", max_examples=FULL_EXAMPLES, deadline=None)
    settings.load_profile("full" if is_full_depth() else "quick")


def is_full_depth() -> bool:
    """Whether this is the nightly run."""
    return os.environ.get(DEPTH_VARIABLE) == FULL


def examples(full: int, quick: int = 0) -> int:
    """`full` examples in the nightly run; else `quick`, or a fortieth but at least 10."""
    return full if is_full_depth() else quick or max(MIN_EXAMPLES, full // QUICK_SHARE)
