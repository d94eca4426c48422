"""Files and functions stay short; those that are not may shrink, never grow, and get no company."""

from tests.architecture.sizes import FILE_LINES, FUNCTION_LINES, offenders, recorded
from tests.architecture.sources import assert_none


def test_nothing_new_is_too_long() -> None:
    found = [f"{name}: {lines}" for name, lines in offenders().items() if name not in recorded()]
    assert_none(
        found,
        f"Over {FILE_LINES} lines for a file or {FUNCTION_LINES} for a function;"
        " split it where there are two ideas:",
    )


def test_recorded_offenders_do_not_grow() -> None:
    now = offenders()
    found = [
        f"{name}: {now[name]}, recorded {lines}"
        for name, lines in recorded().items()
        if now.get(name, 0) > lines
    ]
    assert_none(found, "These were too long already; put the new part elsewhere:")


def test_offenders_that_were_mended_leave_the_record() -> None:
    now = offenders()
    found = [name for name in recorded() if name not in now]
    assert_none(found, "No longer too long: take them out of tests/architecture/offenders.json:")
