"""Manifests from files, directories and stdin."""

import sys
from pathlib import Path
from typing import Annotated

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import option

SUFFIXES = frozenset({".yaml", ".yml", ".json"})

Files = Annotated[list[str], option("FILE", "File, directory, or - for stdin", "--filename", "-f")]


def documents_of(files: list[str]) -> bytes:
    """Returns the documents of files and directories, in order of path, as one text."""
    texts = [text for name in files for text in _texts_of(name)]
    return b"\n---\n".join(texts)


def _texts_of(name: str) -> list[bytes]:
    if name == "-":
        return [sys.stdin.buffer.read()]
    path = Path(name)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES)
        if not found:
            raise CommandFailed(f"no .yaml, .yml or .json files in {name}", code=ExitCode.USAGE)
        return [each.read_bytes() for each in found]
    if not path.is_file():
        raise CommandFailed(f"file not found: {name}", code=ExitCode.USAGE)
    return [path.read_bytes()]
