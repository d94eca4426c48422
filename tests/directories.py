"""The directory in which tests keep databases: in memory where there is room."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

RUN_VARIABLE: Final = "HEADGATE_TEST_RUN"
SHARED_MEMORY: Final = Path("/dev/shm")
MIN_FREE_BYTES: Final = 2 << 30
"""What the servers of two processes of a run may need at their fullest."""


def databases_root() -> Path:
    """Shared memory if it has `MIN_FREE_BYTES`, else the temporary directory.

    Each of some hundred databases is a copy of 1,000 files; on a disk that takes a second or more.
    """
    if SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free >= MIN_FREE_BYTES:
        return SHARED_MEMORY
    return Path(tempfile.gettempdir())


def run_directory() -> Path:
    """The directory of this run of pytest, gone at its end; outside a run the temporary one."""
    return Path(os.environ.get(RUN_VARIABLE) or tempfile.gettempdir())
