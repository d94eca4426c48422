"""From an empty machine with Python: the wheel starts, serves its pages, and its tutorial works."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tests.docs.commands import DOCS, README, TUTORIAL, runnable_scripts
from tests.docs.installation import (
    Installed,
    build_documentation,
    build_wheel,
    embedded_installation,
    install,
    run,
)
from tests.docs.links import is_broken, links

pytestmark = pytest.mark.slow

PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = {
    "headgate run --pods 3": ["[0] rank 0 of 3", "[1] rank 1 of 3", "[2] rank 2 of 3"],
    "headgate apply -f teams.yaml": ["clusterqueue/research created", "No borrowingLimit"],
    "headgate tree": ["2 of 1 used, 1 borrowed from production", "1 lent to research"],
    "headgate why -n tutorial sweep": ["Insufficient quota", "tutorial/train", "How to unblock"],
    "--simulate urgent.sh": ["would preempt tutorial/train (InCohortReclamation)"],
    "headgate preemptions": ["this could not wait", "Completed", "Preempted by tutorial/urgent"],
    "headgate hold": ["workload/train held", "data not there yet", "workload/train released"],
    "headgate verify": ["Past state at position 1", "No violations found"],
    "headgate cancel": ["workload/sweep cancelled", "all dependencies installed"],
}
"""What a block of the tutorial shows, by a part of one of its commands."""

CLIENT_IMPORTS = """
import importlib, pkgutil, sys
import headgate.client, headgate.cli.main, headgate.cli.commands
for package in (headgate.client, headgate.cli.commands):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if module.name != "headgate.cli.commands.log":  # maintains a database: of the server
            importlib.import_module(module.name)
names = {name.partition(".")[0] for name in sys.modules}
print(*sorted(name for name in names - set(sys.stdlib_module_names) if not name.startswith("_")))
"""
OF_A_CLIENT = frozenset(
    {
        *(
            "headgate",
            "httpx",
            "httpx_sse",
            "httpcore",
            "h11",
            "anyio",
            "idna",
            "certifi",
            "sniffio",
        ),
        *("msgspec", "pathspec", "psutil", "yaml", "rapidfuzz", "rich", "typer", "shellingham"),
        *("click", "pygments", "markdown_it", "mdurl", "typing_extensions", "annotated_doc"),
        *("cython_runtime", "sitecustomize"),  # of extension modules, and of the interpreter here
    }
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build_documentation()
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def up(wheel: Path) -> Iterator[Installed]:
    """The installation that all tests share, as it takes seconds to make."""
    with embedded_installation(wheel) as started:
        yield started


def test_the_bare_wheel_is_the_command_line_and_the_client(
    wheel: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    python = install(tmp_path_factory.mktemp("bare") / "venv", wheel) / "python"
    imported = run(str(python), "-c", CLIENT_IMPORTS).split()
    assert {"headgate", "httpx", "msgspec"} <= set(imported)
    assert sorted(set(imported) - OF_A_CLIENT) == []
    for command in ("up", "verify"):
        asked = [python.with_name("headgate"), command]
        refused = subprocess.run(asked, capture_output=True, text=True, check=False)
        assert (refused.returncode, "headgate[server]" in refused.stderr) == (1, True)


def test_the_wheel_serves_its_page_and_its_documentation(up: Installed) -> None:
    assert 'id="root"' in up.request("GET", "/").text
    assert up.request("GET", "/help").headers["location"] == "/help/index.html"
    for page in sorted(DOCS.rglob("*.md")):
        if not {"_build", "reference"} & set(page.parts):
            place = page.relative_to(DOCS).with_suffix(".html").as_posix()
            assert up.request("GET", f"/help/{place}").status_code == 200, place
    notices = next(up.programs.parent.glob("lib/*/site-packages/headgate/notices"))
    assert (notices / "CHANGELOG.md").read_text() == (ROOT / "CHANGELOG.md").read_text()


def test_every_command_of_the_tutorial_works_in_its_order(up: Installed) -> None:
    scripts = runnable_scripts(TUTORIAL)
    assert len(scripts) == len(SHOWN)
    for script, (call, shown) in zip(scripts, SHOWN.items(), strict=True):
        assert call in script
        printed = up.shell(script)
        assert [line for line in shown if line not in printed] == [], printed


def test_the_blocks_of_the_client_page_and_the_notebook_run(up: Installed) -> None:
    page = PYTHON.findall((DOCS / "client.md").read_text())
    notebook = json.loads((ROOT / "examples" / "client.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert (len(page), len(cells)) == (5, 5)
    program = up.directory / "client.py"
    program.write_text("\n".join([*page, *cells]))
    printed = up.shell(f"python {program.name}")
    assert "Succeeded 1" in printed
    assert "Failed 1" in printed
    assert "3 from outside" in printed
    assert "Unschedulable" in printed
    assert "workload.submitted" in printed
    assert "['Succeeded', 'Succeeded']" in printed
    assert "the notebook is done" in printed


@pytest.mark.nightly
def test_every_command_of_the_readme_works_on_a_first_install(up: Installed) -> None:
    first, commands = runnable_scripts(README)
    assert "rank 0 of 3" in up.shell(first)
    printed = up.shell(commands)
    assert "hello from index 1" in printed
    assert "No violations found" in printed


def test_every_link_of_the_documentation_leads_somewhere(wheel: Path) -> None:
    found = list(links())
    assert len(found) > 1_000
    assert [f"{page}: {target}" for page, target in found if is_broken(page, target)] == []
