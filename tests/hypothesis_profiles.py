"""How many examples Hypothesis tries: fewer and new ones locally, more and fixed ones in CI.

A red build in CI is then the fault of the change, and random search goes on at people's desks.
"""

import os

from hypothesis import settings


def load_profile() -> None:
    """Choose by the environment; no deadline, since the machine may be busy with other tests."""
    settings.register_profile("quick", max_examples=40, deadline=None)
    settings.register_profile("thorough", max_examples=150, deadline=None, derandomize=True)
    settings.load_profile("thorough" if os.environ.get("CI") else "quick")
