"""Ages, amounts, columns and codes read as people expect them."""

import csv
import io
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from headgate.cli.failures import ExitCode, code_of_status, tell_problem, worst
from headgate.cli.main import hoisted
from headgate.cli.output import columns, comma_separated, say, show
from headgate.cli.units import (
    age,
    amount,
    fair_share,
    instant_of,
    seconds_of,
    share,
    timestamp_of,
    until,
)
from headgate.client.schemas import ItemResult
from headgate.client.transport import Fault, Problem


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (599, "9m59s"),
        (660, "11m"),
        (3 * 3600 + 120, "3h2m"),
        (9 * 3600, "9h"),
        (2 * 86400 + 3600, "2d1h"),
        (9 * 86400, "9d"),
        (800 * 86400, "2y70d"),
        (-5, "0s"),
    ],
)
def test_ages_read_as_in_kubectl(seconds: int, text: str) -> None:
    assert age(seconds) == text


@pytest.mark.parametrize(
    ("timestamp", "text"),
    [
        ("2026-01-01T00:02:05Z", "in 2m5s"),
        ("2026-01-01T00:00:00Z", "now"),
        ("2025-12-31T23:59:00Z", "now"),
        (None, "-"),
    ],
)
def test_what_comes_is_reported_by_how_soon(timestamp: str | None, text: str) -> None:
    assert until(timestamp, instant_of("2026-01-01T00:00:00Z")) == text


def test_a_broken_rule_is_reported_once_and_at_its_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fault = Fault(pointer="/spec/count", rule="Must be an integer", remedy="Write it plainly.")
    problem = Problem(
        status=422,
        title="Validation failed",
        detail="Workload w (line 3): 1 validation error. /spec/count: Must be an integer",
        remedy="Fix each entry of errors and send the object again.",
        errors=(fault,),
    )
    tell_problem(problem, "workload/w")
    assert capsys.readouterr().err.splitlines() == [
        "workload/w: Workload w (line 3): 1 validation error",
        "  /spec/count: Must be an integer",
        "    -> Write it plainly.",
    ]


def test_what_could_hardly_be_read_is_named_by_what_is_known_of_it() -> None:
    nothing = ItemResult(kind="", outcome="rejected")
    assert nothing.reference == "object"
    assert replace(nothing, kind="Deployment").reference == "deployment"


@pytest.mark.parametrize(
    ("thousandths", "text"),
    [
        (0, ""),
        (250, "fair share 25%"),
        (7, "fair share 0.7%"),
        (2500, "fair share 250%"),
        ((1 << 63) - 1, "fair-sharing weight 0 (always last)"),
    ],
)
def test_a_fair_share_is_a_percentage_of_what_can_be_lent(thousandths: int, text: str) -> None:
    assert fair_share(thousandths) == text


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("1h30m", 5400), ("2d", 172800), ("1.5m", 90)]
)
def test_lengths_of_time_are_understood(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "m5", "5x"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="30s"):
        seconds_of(text)


def test_instants_survive_writing_and_reading() -> None:
    assert timestamp_of(instant_of("2026-09-24T12:03:11Z")) == "2026-09-24T12:03:11Z"
    assert instant_of("2026-09-24T12:03:11.000005Z") % 1_000_000 == 5


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 1500, "1.5"),
        ("cpu", 2000, "2"),
        ("cpu", -250, "-0.25"),
        ("memory", 4 << 30, "4 GiB"),
        ("memory", 1536 << 20, "1.5 GiB"),
        ("nvidia.com/gpu", 8, "8"),
    ],
)
def test_amounts_read_in_the_units_of_people(resource: str, value: int, text: str) -> None:
    assert amount(resource, value) == text


def test_a_share_of_nothing_is_no_number() -> None:
    assert share(1, 0) == "-"
    assert share(1, 3) == "33%"


def test_columns_line_up_and_end_without_blanks() -> None:
    assert columns(["name", "x"], [["long-name", "1"], ["b", "2"]]) == (
        "NAME        X\nlong-name   1\nb           2"
    )


def test_csv_quotes_what_must_be_quoted() -> None:
    assert comma_separated(["A", "b"], [["1,2", 'say "x"']]) == 'a,b\n"1,2","say ""x"""'


@pytest.mark.parametrize(
    ("status", "code"),
    [(404, 3), (401, 4), (403, 4), (409, 5), (412, 5), (428, 5), (422, 8), (504, 124), (500, 1)],
)
def test_each_refusal_has_its_exit_code(status: int, code: int) -> None:
    assert code_of_status(status) == code


def test_many_results_end_with_the_code_they_share() -> None:
    assert worst([ExitCode.OK, ExitCode.NOT_FOUND, ExitCode.NOT_FOUND]) is ExitCode.NOT_FOUND
    assert worst([ExitCode.CONFLICT, ExitCode.NOT_FOUND]) is ExitCode.FAILURE
    assert worst([]) is ExitCode.OK


def test_the_connection_may_be_named_anywhere() -> None:
    assert hoisted(["get", "cq", "--server", "u", "-o", "json", "--token=t"]) == (
        ["--server", "u", "--token=t", "get", "cq", "-o", "json"]
    )
    assert hoisted(["why", "--", "--server"]) == ["why", "--", "--server"]


HOSTILE = "\x1b]0;owned\x07\x1b[2Jgone\r\x9b8m\x7f"


@pytest.mark.parametrize("write", [show, say])
def test_control_characters_do_not_reach_a_terminal(
    write: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    write(f"{HOSTILE}\nnext\tline")

    written = "".join(capsys.readouterr())
    assert written == ("\\u001b]0;owned\\u0007\\u001b[2Jgone\\u000d\\u009b8m\\u007f\nnext\tline\n")


def test_a_cell_stays_in_its_line_and_column() -> None:
    table = columns(["name", "reason"], [["a", "\u202eb\n\x1b[31mc"]])

    assert table.splitlines()[1] == "a      \\u202eb\\u000a\\u001b[31mc"


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "@SUM(A1)", "-cmd|'/c calc'!A1", "\t=1"])
def test_spreadsheets_show_cells_and_compute_none(cell: str) -> None:
    written = comma_separated(["name"], [[cell]], with_headers=False)
    (row,) = csv.reader(io.StringIO(written, newline=""))
    assert row == [f"'{cell}"]


@pytest.mark.parametrize("cell", ["-", "-5", "-0.25", "a=b", "", "team-a/x"])
def test_plain_cells_of_csv_stay_as_they_are(cell: str) -> None:
    assert comma_separated(["name"], [[cell]], with_headers=False).strip('"') == cell
