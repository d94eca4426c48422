"""Every command that a page, a remedy or an error names exists, with its options."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.messages.catalogue import TEXTS
from tests.architecture.sources import BACKEND, assert_none, files_below, shown, strings
from tests.docs.commands import Command, calls_in, fault_of, pages

NAMED = re.compile(r"\b(headgate [a-z][a-z-]+)")
IN_BACKQUOTES = re.compile(r"`(headgate [^`]+)`")


def test_a_call_of_the_program_is_judged_by_its_commands_and_options() -> None:
    assert fault_of("headgate wait train --for phase=Running -n team-a") == ""
    assert fault_of("headgate --at 5 token create ci --role viewer") == ""
    assert fault_of("headgate run --pods 3 -- sh -c 'echo --none'") == ""
    assert fault_of("headgate get workloads --at 5 | head") == ""
    assert "no command waits" in fault_of("headgate waits train")
    assert "no option --until" in fault_of("headgate wait train --until finished")
    assert "no command make" in fault_of("headgate token make ci")


@pytest.mark.parametrize("page", pages(), ids=shown)
def test_every_command_of_a_page_exists(page: Path) -> None:
    assert_none(_faults(calls_in(page)), "These commands do not exist:")


def test_every_command_in_a_message_exists() -> None:
    named = [
        Command(code, call)
        for code, text in TEXTS.items()
        for call in NAMED.findall(f"{text.text}\n{text.remedy}")
    ]
    assert named
    assert_none(_faults(named), "These commands do not exist:")


def test_every_command_in_a_text_of_the_code_exists() -> None:
    named = [
        Command(shown(path), call)
        for path in files_below(BACKEND, ".py")
        # Most files name no command, and need not be parsed.
        if IN_BACKQUOTES.search(path.read_text("utf-8"))
        for _, text in strings(path)
        for call in IN_BACKQUOTES.findall(text)
    ]
    assert len(named) > 10
    assert_none(_faults(named), "These commands do not exist:")


def _faults(calls: Iterator[Command] | list[Command]) -> list[str]:
    return [
        f"{place}: {line.strip()}: {fault}"
        for place, line in calls
        if (fault := fault_of(" ".join(line.split())))
    ]
