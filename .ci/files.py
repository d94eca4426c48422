"""Looks at the files it is given: trailing space, a newline at the end, size, and syntax."""

import json
import sys
import tomllib
from pathlib import Path

import yaml

MAX_BYTES = 1_048_576


def main(names: list[str]) -> int:
    """Print one line for each complaint; the number of complaints."""
    complaints = [line for name in names for line in complaints_about(Path(name))]
    for line in complaints:
        print(line)
    return len(complaints)


def complaints_about(path: Path) -> list[str]:
    """What is wrong with one file and what to do about it."""
    content = path.read_bytes()
    found = []
    if len(content) > MAX_BYTES:
        found.append(f"{path}: over 1 MiB; keep large files out of the repository")
    if path.suffix not in {".md", ".svg"}:
        found += [
            f"{path}:{number}: remove the trailing space"
            for number, line in enumerate(content.split(b"\n"), 1)
            if line.rstrip(b"\r") != line.rstrip()
        ]
    if content and not content.endswith(b"\n"):
        found.append(f"{path}: end the file with a newline")
    problem = syntax_problem(path, content)
    return [*found, f"{path}: {problem}"] if problem else found


def syntax_problem(path: Path, content: bytes) -> str:
    """Why a TOML, YAML or JSON file cannot be read; empty if it can, or is none of these."""
    try:
        match path.suffix:
            case ".toml" | ".lock":
                tomllib.loads(content.decode())
            case ".yaml" | ".yml":
                list(yaml.safe_load_all(content))
            case ".json" if "tsconfig" not in path.name:
                json.loads(content)
            case _:
                pass
    except (ValueError, yaml.YAMLError) as error:
        return f"cannot be read: {error}"
    return ""


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
