"""Requests made to harm: each gets an answer below 500, and writes next to nothing to the log."""

import pytest

from tests.api.callers import Api

LONG = "x" * 60_000
MAX_LOGGED_BYTES = 2_000


@pytest.mark.parametrize(
    "path",
    [f"/{LONG}", f"/assets/{LONG}", f"/v1/{LONG}", f"/{'a/' * 2_000}", "/%00", f"/problems/{LONG}"],
    ids=["page", "asset", "api", "depth", "nul", "problem"],
)
def test_a_path_without_a_token_is_no_failure_and_fills_no_log(
    callers: dict[str, Api], path: str, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = callers["nobody"].get(path)

    assert answer.status_code < 500
    captured = capfd.readouterr()
    assert len(captured.out) + len(captured.err) < MAX_LOGGED_BYTES
