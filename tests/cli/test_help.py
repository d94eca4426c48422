"""What the program says of itself."""

from importlib.metadata import version as installed_version

import pytest
from typer.main import get_command

from headgate.cli.main import SECTIONS, Program, app
from tests.cli.invocation import Invoker


def test_every_command_stands_under_exactly_one_heading() -> None:
    program = get_command(app)
    assert isinstance(program, Program)
    told = [name for names in SECTIONS.values() for name in names]
    assert sorted(told) == sorted(program.commands)


def test_help_groups_commands_by_task() -> None:
    told = Invoker()("--help").stdout
    assert [line for line in told.splitlines()[1:] if line.endswith("...")] == []
    headings = [f"{title}:" for title in SECTIONS]
    assert [line for line in told.splitlines() if line in headings] == headings


@pytest.mark.parametrize("name", ["why", "verify", "up"])
def test_help_looks_the_same_for_commands_that_load_late(name: str) -> None:
    assert Invoker()(name, "--help").stdout.startswith("Usage: ")


def test_reverting_says_that_it_needs_one_object() -> None:
    told = Invoker()("revert", "--help").stdout
    assert "default: all" not in told


def test_summaries_end_without_a_full_stop_and_fit_on_a_line() -> None:
    lines = Invoker()("--help").stdout.splitlines()
    first = lines.index("Workloads:")
    rows = [line for line in lines[first:] if line.startswith("  ") and line[2:3].isalpha()]
    assert [row for row in rows if row.endswith(".") or len(row) > 80] == []


def test_the_version_of_the_client_is_shown_without_a_server() -> None:
    shown = Invoker()("--version").stdout
    assert shown == f"headgate {installed_version('headgate')}\n"
