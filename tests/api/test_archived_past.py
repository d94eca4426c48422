"""Timelines and the past over REST, once their events are in the archive of the log."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headgate.application.maintenance import ArchiveRule
from headgate.bootstrap import Platform
from headgate.settings import Settings
from tests.api.callers import ADMIN_SECRET, Api
from tests.api.test_time_travel import HERE, READS, answer_of, answers

__all__ = ["answers"]
END = 10
"""The first partition has the positions before it; tests need no million of events."""


@pytest.fixture(scope="module")
def settings(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """An API with an archive of the log, and a log with a small first partition."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP TABLE event_0, event_1")
        for name, bounds in (("event_0", (0, END)), ("event_1", (END, 2_000_000))):
            connection.execute(
                f"CREATE TABLE {name} PARTITION OF event"
                f" FOR VALUES FROM ({bounds[0]}) TO ({bounds[1]})"
            )
            connection.execute("SELECT protect_from_change(%s::regclass)", (name,))
    return Settings(
        database_url=database_url,
        broker_url="memory://",
        admin_token=ADMIN_SECRET,
        ui_directory=Path(tmp_path_factory.mktemp("ui")),
        pod_logs=str(tmp_path_factory.mktemp("pod-logs")),
        log_archive=str(tmp_path_factory.mktemp("archive")),
    )


def archive(platform: Platform) -> int:
    """Lets upkeep archive what is full, by a rule that keeps nothing."""
    while platform.followers.advance(*platform.followers.names()):
        pass
    platform.build_snapshot()
    automatic = platform.automatic_archive()
    assert automatic is not None
    rule = ArchiveRule(after_seconds=0, max_bytes=1)
    work = replace(automatic, rule=rule).archive_due()
    while True:
        try:
            next(work)
        except StopIteration as end:
            return int(end.value)


def metric(admin: Api, name: str) -> float:
    lines = admin.get("/metrics").text.splitlines()
    (value,) = [line.split(" ")[1] for line in lines if line.startswith(f"{name} ")]
    return float(value)


def test_what_was_archived_is_read_from_the_archive(
    admin: Api,
    platform: Platform,
    answers: dict[int, dict[str, tuple[int, Any]]],
) -> None:
    timeline = admin.get(f"{HERE}/first/timeline").json()
    events = admin.get("/v1/events?limit=1000").json()
    assert metric(admin, "headgate_log_archived_position") == 0

    assert archive(platform) == 1

    assert metric(admin, "headgate_log_archived_position") == END - 1
    assert metric(admin, "headgate_log_archive_failing") == 0
    with psycopg.connect(platform.settings.database_url) as connection:
        assert connection.execute("SELECT min(position) FROM event_whole").fetchone() == (END,)
    assert admin.get(f"{HERE}/first/timeline").json() == timeline
    assert admin.get("/v1/events?limit=1000").json() == events
    for position, told in answers.items():
        for path in READS:
            assert answer_of(admin, path, at=position) == told[path], (position, path)
