"""When a CronJob is due, and what is recorded of it (Kubernetes: cronjob controller)."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.domain.kinds.configured_object import Configured
from headgate.domain.kinds.job_templates import (
    CRON_JOB,
    CronJobScheduled,
    CronJobSpec,
    LocalMinute,
    RecordSchedule,
    broken_rule_of_cron_job_name,
    cron_schedule,
    latest_due,
)
from headgate.domain.values.message import message
from tests.builders.instants import T0

BERLIN = ZoneInfo("Europe/Berlin")


def minute_of(text: str, zone: ZoneInfo | None = None) -> int:
    at = datetime.fromisoformat(text).replace(tzinfo=zone or UTC)
    return int(at.timestamp()) // 60


def in_berlin(minute: int) -> LocalMinute:
    at = datetime.fromtimestamp(minute * 60, BERLIN)
    return LocalMinute(at.minute, at.hour, at.day, at.month, at.isoweekday() % 7)


def in_utc(minute: int) -> LocalMinute:
    at = datetime.fromtimestamp(minute * 60, UTC)
    return LocalMinute(at.minute, at.hour, at.day, at.month, at.isoweekday() % 7)


@pytest.mark.parametrize(
    ("schedule", "due"),
    [
        ("* * * * *", "2026-03-04T05:06"),
        ("*/15 * * * *", "2026-03-04T05:00"),
        ("0 3 * * *", "2026-03-04T03:00"),
        ("30 6-8/2 * * *", "2026-03-03T08:30"),
        ("@weekly", "2026-03-01T00:00"),
        ("0 0 * * mon", "2026-03-02T00:00"),
        ("0 0 1 jan ?", "2026-01-01T00:00"),
        ("0 0 13 * fri", "2026-02-27T00:00"),
        ("5,6 5 4 3 *", "2026-03-04T05:06"),
        ("0 0 29 2 *", None),
    ],
)
def test_the_last_time_of_a_schedule(schedule: str, due: str | None) -> None:
    read = cron_schedule(schedule)
    assert read is not None
    until = minute_of("2026-03-04T05:06")
    found = latest_due(read, until - 366 * 24 * 60, until, in_utc)
    assert found == (None if due is None else minute_of(due))


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "60 * * * *", "* * 0 * *", "* * * * 7", "*/0 * * * *", "5-1 * * * *",
     "@every 1h", "TZ=UTC 0 0 * * *", "a * * * *", "1- * * * *", "* * * foo *"],
)  # fmt: skip
def test_what_is_no_schedule(text: str) -> None:
    assert cron_schedule(text) is None
    refused = CRON_JOB.rules(CronJobSpec(schedule=text))
    assert [each.pointer for each in refused] == ["/spec/schedule"]


def test_an_hour_that_clocks_leave_out_is_not_due_and_one_they_repeat_twice() -> None:
    nightly = cron_schedule("30 2 * * *")
    assert nightly is not None
    spring, autumn = minute_of("2026-03-29T12:00", BERLIN), minute_of("2026-10-25T12:00", BERLIN)
    assert latest_due(nightly, spring - 14 * 60, spring, in_berlin) is None
    last = latest_due(nightly, autumn - 14 * 60, autumn, in_berlin)
    assert last is not None
    assert latest_due(nightly, autumn - 14 * 60, last - 1, in_berlin) == last - 60


FIELDS = st.tuples(
    st.sampled_from(["*", "0", "*/7", "5,50", "59"]),
    st.sampled_from(["*", "0", "2-3", "*/5", "23"]),
    st.sampled_from(["*", "1", "31", "*/10"]),
    st.sampled_from(["*", "1,3,10", "*/2"]),
    st.sampled_from(["*", "0", "mon-fri", "?"]),
)


@given(FIELDS, st.integers(minute_of("2026-01-01"), minute_of("2027-01-01")), st.integers(0, 9_000))
def test_no_due_minute_is_overlooked(fields: tuple[str, ...], until: int, width: int) -> None:
    """Compared with a look at each minute, over days on which clocks change as well."""
    schedule = cron_schedule(" ".join(fields))
    assert schedule is not None
    found = latest_due(schedule, until - width, until, in_berlin)
    minutes = (
        minute
        for minute in range(until, until - width, -1)
        if schedule.matches_hour(shown := in_berlin(minute)) and shown.minute in schedule.minutes
    )
    assert found == next(minutes, None)


def test_a_served_time_is_recorded_once_and_kept_by_a_change() -> None:
    state = Configured(
        name="x", namespace="a", uid="u", created_at=T0, spec=CronJobSpec(schedule="@daily")
    )
    refusal = message("QueueUnknown")
    told = RecordSchedule(scheduled_at=T0 + 60, refusal=refusal)
    (event,) = CRON_JOB.decide(state, told, T0 + 61)
    assert event == CronJobScheduled(scheduled_at=T0 + 60, refusal=refusal)
    served = CRON_JOB.evolve(state, event, T0 + 61)
    assert isinstance(served, Configured)
    assert (served.generation, served.spec.scheduled_at) == (1, T0 + 60)
    assert CRON_JOB.decide(served, told, T0 + 62) == ()
    assert CRON_JOB.decide(served, RecordSchedule(scheduled_at=T0), T0 + 62) == ()


def test_the_name_of_a_cron_job_leaves_room_for_those_of_its_jobs() -> None:
    assert broken_rule_of_cron_job_name("x" * 52) is None
    assert broken_rule_of_cron_job_name("x" * 53) == "CronJobNameTooLong"
    assert broken_rule_of_cron_job_name("X") == "NotDnsLabel"
