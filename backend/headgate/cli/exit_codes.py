"""What each exit code means; none is ever used for anything else."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_FOUND = 3
    FORBIDDEN = 4
    CONFLICT = 5
    WORKLOAD_FAILED = 6
    NOT_AS_EXPECTED = 7
    REFUSED = 8
    TIMED_OUT = 124
    INTERRUPTED = 130


MEANINGS = (
    "Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 forbidden or no token, 5 conflict, "
    "6 the workload failed, 7 not as expected (--expect), 8 refused by a rule, 124 timed out, "
    "130 interrupted."
)

_BY_STATUS = {
    400: ExitCode.REFUSED,
    401: ExitCode.FORBIDDEN,
    403: ExitCode.FORBIDDEN,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.CONFLICT,
    410: ExitCode.NOT_FOUND,
    412: ExitCode.CONFLICT,
    422: ExitCode.REFUSED,
    428: ExitCode.CONFLICT,
    504: ExitCode.TIMED_OUT,
}


def code_of_status(status: int) -> ExitCode:
    """The exit code for an HTTP status that is a failure."""
    return _BY_STATUS.get(status, ExitCode.FAILURE)


def worst(codes: list[ExitCode]) -> ExitCode:
    """One code for many results: the one they share, or plain failure if they differ."""
    failures = {code for code in codes if code is not ExitCode.OK}
    if not failures:
        return ExitCode.OK
    return failures.pop() if len(failures) == 1 else ExitCode.FAILURE
