"""Log lines are text, or a JSON object each with the fields that a collector searches by."""

import json
import subprocess
import sys
from typing import Any

import pytest

from headgate.adapters.system.process_start import MAX_LINE_CHARACTERS

PROGRAM = """
import structlog
from headgate.adapters.system.process_start import configure_log_lines
configure_log_lines("info", {form!r})
log = structlog.get_logger()
log.debug("left out")
log.info("decided", request="r-1", position=7, partition="all", reason="x" * 5000)
try:
    raise ValueError("broken " + "y" * 9000)
except ValueError:
    log.exception("failed", partition="all", body=b"bytes")
log.info("long", **{{f"field-{{n}}": chr(9731) * 900 for n in range(20)}}, keys=list(range(9000)))
"""


def lines(form: str) -> list[str]:
    command = [sys.executable, "-c", PROGRAM.format(form=form)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


def test_json_lines_are_objects_with_their_fields() -> None:
    decided, failed, long = (json.loads(line) for line in lines("json"))
    fields: dict[str, Any] = {"request": "r-1", "position": 7, "partition": "all"}
    assert fields.items() <= decided.items()
    assert (decided["event"], decided["level"]) == ("decided", "info")
    assert decided["timestamp"].endswith("Z")
    assert decided["reason"].endswith("(5,000 characters)")
    assert (failed["event"], failed["level"], failed["partition"]) == ("failed", "error", "all")
    assert "ValueError" in failed["exception"] or failed["exception"].endswith("y")
    assert (long["event"], set(long["field-19"])) == ("long", {chr(9731)})
    assert len(json.dumps(long)) <= MAX_LINE_CHARACTERS


@pytest.mark.parametrize("form", ["text", "json"])
def test_debugging_is_left_out_unless_it_is_asked_for(form: str) -> None:
    assert "left out" not in "".join(lines(form))
