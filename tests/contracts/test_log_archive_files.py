"""Archived parts of the log as files: nothing is lost, and nothing wrong is taken in."""

import csv
import gzip
from hashlib import sha256
from pathlib import Path

import msgspec
import psycopg
import pytest

from headgate.adapters.postgres.archive import LogArchive, LogArchiveFiles
from headgate.adapters.postgres.connections import Pool
from headgate.adapters.postgres.followers import PostgresFollowers
from headgate.application.failures import Archived, BrokenFile
from headgate.application.maintenance import LogPartition
from headgate.application.projections.workload_pods import PodFilter
from headgate.application.verify.verify import ChainAudit, Verifier, audit_chain
from headgate.domain.recorded_event import kind_and_key
from tests.contracts.adapters import Adapters
from tests.contracts.test_log_archive import (
    SMALL,
    adapters,
    archive_all,
    database_of_small_parts,
    pool,
)

__all__ = ["adapters", "database_of_small_parts", "pool"]


def saved_and_taken_away(pool: Pool, directory: Path) -> Path:
    (part,) = archive_all(pool, 10)
    files = LogArchiveFiles(pool)
    about = files.save(part, directory)
    files.take_away(about)
    return about


def test_what_was_saved_and_taken_away_comes_back_whole(
    adapters: Adapters, pool: Pool, tmp_path: Path
) -> None:
    everything = list(adapters.log.read_all())
    about = saved_and_taken_away(pool, tmp_path)
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["event_0.csv.gz", "event_0.json"]
    assert adapters.log.read_stream(everything[0].stream) == []
    told = LogArchiveFiles(pool).restore(about)
    assert (told.first, told.end, told.events) == (0, 10, 9)
    assert list(adapters.log.read_all()) == everything
    followers = PostgresFollowers(pool)
    for name in followers.names():
        followers.rebuild(name)
    assert Verifier(adapters.log, adapters.models, followers).verify(lambda *_: None).holds


def test_the_log_continues_while_its_beginning_is_away(
    adapters: Adapters, pool: Pool, tmp_path: Path, database_of_small_parts: str
) -> None:
    head = adapters.log.head()
    saved_and_taken_away(pool, tmp_path)
    with psycopg.connect(database_of_small_parts, autocommit=True) as connection:
        connection.execute("SELECT extend_log(1000000)")
    assert [part.name for part in LogArchive(pool).archived()] == ["event_0"]
    assert [found.position for found in adapters.log.read(9, limit=3)] == [10, 11, 12]
    assert adapters.log.head() == head


def test_pods_that_are_in_the_events_alone_are_away_with_them(
    adapters: Adapters, pool: Pool, tmp_path: Path
) -> None:
    followers = PostgresFollowers(pool)
    while followers.advance("workload_pod"):
        pass
    _, key = kind_and_key(adapters.log.read(8, limit=1)[0].stream)
    about = saved_and_taken_away(pool, tmp_path)
    with pytest.raises(Archived):
        followers.pods(PodFilter(workload=key))
    LogArchiveFiles(pool).restore(about)
    assert followers.pods(PodFilter(workload=key)).pods == []


def test_files_of_earlier_releases_come_back_too(
    adapters: Adapters, pool: Pool, tmp_path: Path
) -> None:
    """They have a column besides, in another order; what they tell of events is the same."""
    everything = list(adapters.log.read_all())
    about = saved_and_taken_away(pool, tmp_path)
    data = about.with_suffix(".csv.gz")
    with gzip.open(data, "rt", encoding="utf-8", newline="") as file:
        rows = [{"recorded_at": "2026-11-21 10:00:00+00", **row} for row in csv.DictReader(file)]
    with gzip.open(data, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    saved = msgspec.json.decode(about.read_bytes())
    digest = sha256(data.read_bytes()).hexdigest()
    about.write_bytes(msgspec.json.encode(saved | {"sha256": digest}))

    LogArchiveFiles(pool).restore(about)

    assert list(adapters.log.read_all()) == everything


def test_what_is_there_already_is_not_taken_in_twice(
    adapters: Adapters, pool: Pool, tmp_path: Path
) -> None:
    assert adapters.log.head()
    about = saved_and_taken_away(pool, tmp_path)
    files = LogArchiveFiles(pool)
    files.restore(about)
    with pytest.raises(BrokenFile, match="in the database already"):
        files.restore(about)


def test_the_chain_holds_through_archiving_taking_away_and_restoring(
    adapters: Adapters, pool: Pool, tmp_path: Path
) -> None:
    log = adapters.log
    everything = log.read_chain(0, limit=999)
    about = saved_and_taken_away(pool, tmp_path)

    assert audit_chain(log) == ChainAudit(first=SMALL[1][1], last=log.head())

    LogArchiveFiles(pool).restore(about)

    assert log.read_chain(0, limit=999) == everything
    assert audit_chain(log) == ChainAudit(first=1, last=log.head())


def test_a_file_that_was_changed_or_belongs_to_another_log_is_refused(
    adapters: Adapters, pool: Pool, tmp_path: Path, database_of_small_parts: str
) -> None:
    assert adapters.log.head()
    about = saved_and_taken_away(pool, tmp_path)
    files, data = LogArchiveFiles(pool), about.with_suffix(".csv.gz")
    whole = data.read_bytes()
    data.write_bytes(gzip.compress(gzip.decompress(whole).replace(b"gpu", b"cpu")))
    with pytest.raises(BrokenFile, match="another digest"):
        files.restore(about)
    data.unlink()
    with pytest.raises(BrokenFile, match="cannot be read"):
        files.take_away(about)
    data.write_bytes(whole)
    about.write_text(about.read_text().replace(adapters.log.log_id(), "somebody-elses"))
    with pytest.raises(BrokenFile, match="another log"):
        files.restore(about)


def test_events_other_than_those_that_were_chained_are_refused(
    adapters: Adapters, pool: Pool, tmp_path: Path, database_of_small_parts: str
) -> None:
    """A file may be whole by its own digest, and still not be what the log has lost."""
    assert adapters.log.head()
    about = saved_and_taken_away(pool, tmp_path)
    files, data = LogArchiveFiles(pool), about.with_suffix(".csv.gz")
    forged = gzip.compress(gzip.decompress(data.read_bytes()).replace(b"gpu", b"cpu"))
    data.write_bytes(forged)
    saved = msgspec.json.decode(about.read_bytes())
    about.write_bytes(msgspec.json.encode(saved | {"sha256": sha256(forged).hexdigest()}))

    with pytest.raises(BrokenFile, match="other events than the log has chained"):
        files.restore(about)

    part = LogPartition(name=saved["name"], first=saved["first"], end=saved["end"])
    assert not files.holds_events(part)
