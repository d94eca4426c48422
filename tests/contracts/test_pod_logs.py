"""Stores of pod logs: idempotent by offset, first and last bytes kept, read by any process."""

import contextlib
import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import boto3
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto.server import ThreadedMotoServer

from headgate.adapters.object_storage import ObjectLogStore
from headgate.adapters.shared_directory import DirectoryLogStore
from headgate.application.file_stores import (
    MEBIBYTE,
    LogAppend,
    LogChunk,
    LogRun,
    LogStore,
    LogStream,
)
from headgate.application.ports import Unavailable

OpenStore = Callable[[], LogStore]


@pytest.fixture(scope="module")
def object_storage() -> Iterator[str]:
    """The address of a server that speaks S3."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names[:2], "testing") | {names[2]: "us-east-1"})
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    assert urlsplit(address).port
    with contextlib.closing(boto3.client("s3", endpoint_url=address)) as client:
        client.create_bucket(Bucket="logs")
    yield address
    server.stop()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


@pytest.fixture(params=["directory", "object storage"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LogStore]:
    """An empty store of each kind."""
    made: LogStore = DirectoryLogStore(tmp_path)
    if request.param == "object storage":
        address = request.getfixturevalue("object_storage")
        made = ObjectLogStore("logs", f"below/{tmp_path.name}", address)
    yield made
    made.close()


def run(index: int = 0, *, attempt: int = 1, number: int = 1, uid: str = "uid-1") -> LogRun:
    return LogRun(
        namespace="team-a",
        workload="train",
        uid=uid,
        attempt=attempt,
        pod_set="main",
        index=index,
        run=number,
    )


def chunk(offset: int, content: bytes, *, at: int = 1, stream: LogStream = "stdout") -> LogChunk:
    return LogChunk(stream=stream, offset=offset, at=at, content=content)


def send(
    store: LogStore,
    *chunks: LogChunk,
    of: LogRun | None = None,
    limit_bytes: int = MEBIBYTE,
    is_final: bool = False,
) -> None:
    store.append(
        LogAppend(
            run=of or run(),
            chunks=chunks,
            limit_bytes=limit_bytes,
            executor="rack-1",
            is_final=is_final,
        )
    )


def kept(store: LogStore, stream: LogStream = "stdout", after: int = 0) -> list[tuple[int, bytes]]:
    """What is kept, with neighbours joined."""
    joined: list[tuple[int, bytes]] = []
    for found in store.read(run(), stream, after, limit_bytes=2**40):
        if joined and joined[-1][0] + len(joined[-1][1]) == found.offset:
            joined[-1] = (joined[-1][0], joined[-1][1] + found.content)
        else:
            joined.append((found.offset, found.content))
    return joined


def test_chunks_are_read_in_order_from_any_offset(store: LogStore) -> None:
    send(store, chunk(0, b"one\n", at=5), chunk(0, b"oops\n", at=6, stream="stderr"))
    send(store, chunk(4, b"two\n", at=7))

    assert kept(store) == [(0, b"one\ntwo\n")]
    assert kept(store, after=5) == [(5, b"wo\n")]
    assert kept(store, after=8) == []
    assert kept(store, "stderr") == [(0, b"oops\n")]
    assert [found.at for found in store.read(run(), "stdout", 0, limit_bytes=100)] == [5, 7]
    (first,) = store.read(run(), "stdout", 0, limit_bytes=1)
    assert first.content == b"one\n", "at least one chunk"


def test_a_chunk_that_comes_twice_or_overlaps_is_kept_once(store: LogStore) -> None:
    send(store, chunk(0, b"abc"))
    send(store, chunk(0, b"abc"))
    send(store, chunk(0, b"abcdef"))
    send(store, chunk(3, b"def"))

    assert kept(store) == [(0, b"abcdef")]
    (found,) = store.runs("team-a", "train", "uid-1")
    assert found.ends == {"stdout": 6, "stderr": 0}


def test_dropped_bytes_are_a_gap(store: LogStore) -> None:
    send(store, chunk(0, b"begin"), chunk(100, b"end"))

    assert kept(store) == [(0, b"begin"), (100, b"end")]
    assert kept(store, after=50) == [(100, b"end")]


def test_the_first_and_the_last_bytes_are_kept(store: LogStore) -> None:
    limit, size = 32_768, 4_096
    for number in range(64):
        send(store, chunk(number * size, bytes([number]) * size), limit_bytes=limit)

    parts = kept(store)
    assert len(parts) == 2
    (first, begin), (second, end) = parts
    assert first == 0
    assert limit <= len(begin) <= 2 * limit
    assert limit <= len(end) <= 2 * limit + size
    assert second + len(end) == 64 * size
    assert begin[:limit] == b"".join(bytes([n]) * size for n in range(8))
    assert end[-limit:] == b"".join(bytes([n]) * size for n in range(56, 64))


def test_nothing_is_kept_where_the_limit_is_zero(store: LogStore) -> None:
    send(store, chunk(0, b"gone"), limit_bytes=0)

    assert kept(store) == []


def test_the_end_is_read_without_the_beginning(store: LogStore) -> None:
    for number in range(50):
        send(store, chunk(number * 10_000, b"%09d\n" % number * 1_000))

    found = store.read_end(run(), "stdout", limit_bytes=15_000)

    assert found[-1].end == 500_000
    assert 15_000 <= sum(len(each.content) for each in found) < 500_000
    assert [each.offset for each in found] == sorted(each.offset for each in found)


def test_runs_of_one_uid_are_listed_in_order_with_their_end(store: LogStore) -> None:
    send(store, chunk(0, b"x"), of=run(10), is_final=True)
    send(store, chunk(0, b"x"), of=run(2))
    send(store, chunk(0, b"x"), of=run(2, attempt=2))
    send(store, chunk(0, b"x"), of=run(2, number=2))
    send(store, chunk(0, b"x"), of=run(0, uid="uid-2"))

    found = store.runs("team-a", "train", "uid-1")

    assert [(each.run, each.is_final) for each in found] == [
        (run(2), False),
        (run(2, number=2), False),
        (run(10), True),
        (run(2, attempt=2), False),
    ]
    assert store.runs("team-a", "other", "uid-1") == []


def test_removed_runs_are_gone_and_others_stay(store: LogStore) -> None:
    send(store, chunk(0, b"x"), of=run(0))
    send(store, chunk(0, b"x"), of=run(1))
    before = store.stored()

    store.remove([run(0), run(7)])

    assert {(each.run.index, each.executor) for each in before} == {(0, "rack-1"), (1, "rack-1")}
    assert all(each.kept_bytes > 0 and each.changed_at > 10**15 for each in before)
    assert [each.run for each in store.stored()] == [run(1)]


EXAMPLES = count()
SIZES = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30)), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=SIZES)
def test_whatever_is_repeated_the_bytes_are_those_that_were_written(
    store: LogStore, sent: list[tuple[int, int]]
) -> None:
    of = run(uid=f"example-{next(EXAMPLES)}")
    whole = bytes(range(100))
    end = 0
    for back, size in sent:
        start = max(0, end - back)
        content = whole[start : start + size]
        if not content:
            continue
        send(store, chunk(start, content), of=of)
        end = max(end, start + len(content))

    found = b"".join(c.content for c in store.read(of, "stdout", 0, limit_bytes=10_000))

    assert found == whole[:end]


def test_a_frame_that_a_crash_cut_short_is_passed_over(tmp_path: Path) -> None:
    store = DirectoryLogStore(tmp_path)
    send(store, chunk(0, b"whole\n"), chunk(6, b"cut\n"))
    (segment,) = tmp_path.rglob("stdout.*")
    segment.write_bytes(segment.read_bytes()[:-2])

    assert kept(store) == [(0, b"whole\n")]
    send(store, chunk(6, b"again\n"))
    assert kept(store) == [(0, b"whole\nagain\n")]


def test_a_store_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "team-a").write_text("a file where a folder is to be")

    with pytest.raises(Unavailable):
        send(DirectoryLogStore(tmp_path), chunk(0, b"x"))
