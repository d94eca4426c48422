"""Golden files: one sample of every stored name in every schema version, as it lies in the log.

`python -m tests.event_log.golden_files` writes those that are missing. Files are never changed:
an event with a new shape gets a new schema version, and with it a new file.
"""

from pathlib import Path

import msgspec

from headgate.event_log.codec import CLASSES_BY_NAME, encode, schema_version_of
from tests.event_log.samples import sample_of

DIRECTORY = Path(__file__).parent / "golden"


def path_of(name: str, schema_version: int) -> Path:
    """Where the golden file of one name and version lies."""
    return DIRECTORY / f"{name}.v{schema_version}.json"


def legible(fields: bytes) -> bytes:
    """The stored JSON in the layout of golden files."""
    return msgspec.json.format(fields, indent=2) + b"\n"


def write_missing() -> list[Path]:
    """Write a file for each current version that has none; which were written."""
    DIRECTORY.mkdir(exist_ok=True)
    written = []
    for name, event_class in CLASSES_BY_NAME.items():
        path = path_of(name, schema_version_of(name))
        if not path.exists():
            path.write_bytes(legible(encode(sample_of(event_class))[2]))
            written.append(path)
    return written


if __name__ == "__main__":
    write_missing()
