"""`headgate log archive` on a real database."""

import json
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner, Result

from headgate.application.snapshot_store import CACHE_NAME, Snapshot, SnapshotStore
from headgate.cli.main import app
from headgate.event_log.folds import STATE_VERSIONS
from tests.contracts.adapters import Adapters, on_postgres
from tests.workers.cluster import cluster, folded, record, submitted_many


def archive(database_url: str, *words: str) -> str:
    asked = ["log", "archive", *words, "--database-url", database_url]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    return result.output


def split(database_url: str) -> None:
    """A first partition of four positions, and the rest."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("DROP TABLE event_0, event_1")
        for part, bounds in (("event_0", "(0) TO (5)"), ("event_1", "(5) TO (2000000)")):
            connection.execute(f"CREATE TABLE {part} PARTITION OF event FOR VALUES FROM {bounds}")


def verify(database_url: str, *words: str) -> str:
    asked = ["verify", *words, "-o", "table", "--database-url", database_url]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    return result.output


def test_verify_says_where_the_log_starts_when_what_was_archived_is_dropped(
    fresh_database_url: str,
) -> None:
    split(fresh_database_url)
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"))
        record(adapters.log, *submitted_many("gpu", 5))
    archive(fresh_database_url, "--before", "100")
    assert "The log starts at position" not in verify(fresh_database_url)
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("DROP TABLE event_0")
    told = verify(fresh_database_url)
    assert "The log starts at position 5 (archived before)" in told
    assert "No events are missing since" in told


def test_verify_checks_the_chain_alone(fresh_database_url: str) -> None:
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"))
        head = adapters.log.head()
    assert verify(fresh_database_url, "--chain") == f"chain ok 1..{head}\n"
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("UPDATE event SET version = 7 WHERE position = 3")

    asked = ["verify", "--chain", "-o", "table", "--database-url", fresh_database_url]
    result = CliRunner().invoke(app, asked)

    assert result.exit_code == 1
    assert result.output == f"chain differs first at position 3 of {head}\n"


def test_a_full_partition_is_shown_then_archived_and_never_twice(fresh_database_url: str) -> None:
    split(fresh_database_url)
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"))
        record(adapters.log, *submitted_many("gpu", 5))
        told = archive(fresh_database_url, "--before", "100", "--dry-run")
        assert told == "event_0: positions 0 to 4 would be archived\n"
        assert archive(fresh_database_url, "--before", "4").startswith("No partition")
        assert "event_0: positions 0 to 4 archived" in archive(
            fresh_database_url, "--before", "100"
        )
        assert "No partition" in archive(fresh_database_url, "--before", "100")
        assert [recorded.position for recorded in adapters.log.read_all()] == list(
            range(1, adapters.log.head() + 1)
        )


def test_what_is_archived_is_saved_taken_away_once_a_state_is_kept_and_restored(
    fresh_database_url: str, tmp_path: Path
) -> None:
    split(fresh_database_url)
    save = ("log", "save", "--to", str(tmp_path), "--database-url", fresh_database_url)
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"))
        record(adapters.log, *submitted_many("gpu", 5))
        everything = list(adapters.log.read_all())
        assert "No archived partitions" in CliRunner().invoke(app, save).output
        archive(fresh_database_url, "--before", "100")
        early = CliRunner().invoke(app, [*save, "--take-away"])
        assert early.exit_code == 1
        assert "requires a snapshot up to position 4" in early.output
        assert "positions 0 to 4 saved" in CliRunner().invoke(app, save).output
        keep_state(adapters)
        taken = CliRunner().invoke(app, [*save, "--take-away"]).output
        assert "positions 0 to 4 saved and emptied" in taken
        assert "Restore them before an upgrade" in taken
        assert "No archived partitions" in CliRunner().invoke(app, save).output
        assert "The log starts at position 5" in verify(fresh_database_url)
        about = str(tmp_path / "event_0.json")
        back = ("log", "restore", "--from", about, "--database-url", fresh_database_url)
        assert "event_0: 4 events restored" in CliRunner().invoke(app, back).output
        assert list(adapters.log.read_all()) == everything
        again = CliRunner().invoke(app, back)
        assert again.exit_code == 1
        assert "in the database already" in again.output


def test_what_an_action_on_the_log_needs_is_said(fresh_database_url: str) -> None:
    for action, option in (("archive", "--before"), ("save", "--to"), ("restore", "--from")):
        asked = ["log", action, "--database-url", fresh_database_url]
        result = CliRunner().invoke(app, asked)
        assert result.exit_code == 2
        assert f"specify {option}" in result.output


def keep_state(adapters: Adapters) -> None:
    """What a worker keeps now and then."""
    SnapshotStore(adapters.state_cache, adapters.log).put(
        Snapshot(folded(adapters.log), adapters.point(adapters.log.head()))
    )


def build(database_url: str) -> Result:
    return CliRunner().invoke(app, ["snapshot", "build", "--database-url", database_url])


def test_a_release_builds_its_snapshot_before_its_first_start(
    fresh_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_DATABASE_URL", fresh_database_url)
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"), *submitted_many("gpu", 5))
        head = adapters.log.head()

        migrated = CliRunner().invoke(app, ["migrate"])

        assert f"A snapshot at position {head} is ready" in migrated.output
        current = STATE_VERSIONS.readable[:1]
        assert adapters.state_cache.newest(CACHE_NAME, current)
        record(adapters.log, *submitted_many("gpu", 2, "later"))
        assert f"position {head} is ready" in build(fresh_database_url).output, "it is near the end"
        adapters.state_cache.forget(CACHE_NAME)
        assert f"position {adapters.log.head()} is" in build(fresh_database_url).output


def test_a_release_that_cannot_fold_the_log_says_so_before_its_first_start(
    fresh_database_url: str,
) -> None:
    split(fresh_database_url)
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"), *submitted_many("gpu", 5))
    archive(fresh_database_url, "--before", "100")
    with psycopg.connect(fresh_database_url, autocommit=True) as connection:
        connection.execute("DROP TABLE event_0")

    refused = build(fresh_database_url)

    assert refused.exit_code == 1
    assert "no snapshot can be built" in refused.output


def test_events_are_shown_as_they_are_stored(fresh_database_url: str) -> None:
    with on_postgres(fresh_database_url) as adapters:
        record(adapters.log, *cluster("gpu"))
        first = adapters.log.read_chain(0, limit=1)[0].stored
    command = ["log", "show", "--position", "1", "--database-url", fresh_database_url]

    shown = CliRunner().invoke(app, [*command, "--count", "2"])
    missing = CliRunner().invoke(app, [*command[:3], "99", *command[4:]])

    assert shown.exit_code == 0, shown.output
    lines = [json.loads(line) for line in shown.output.splitlines()]
    assert [line["position"] for line in lines] == [1, 2]
    assert lines[0]["stream"] == first.stream
    assert lines[0]["type"] == first.type
    assert lines[0]["body"] == json.loads(first.body)
    assert missing.exit_code == 1
    assert "no event at position 99" in missing.output
