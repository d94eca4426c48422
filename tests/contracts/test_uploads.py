"""Stores of uploads: kept once by namespace and digest, beside the pod logs."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from headgate.adapters.object_storage import ObjectContentStore, ObjectLogStore
from headgate.adapters.shared_directory import DirectoryContentStore, DirectoryLogStore
from headgate.application.file_stores import (
    ContentKey,
    ContentStore,
    LogStore,
    StoredContent,
    remove_old_uploads,
)
from headgate.domain.object_set import ObjectSet
from tests.contracts.test_pod_logs import chunk, object_storage, run, send

__all__ = ["object_storage"]
SECOND = 1_000_000
WEEK_SECONDS = 604_800


@pytest.fixture(params=["directory", "object storage"])
def stores(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[ContentStore, LogStore]]:
    """Empty stores of each kind, uploads and pod logs at the same place."""
    logs: LogStore = DirectoryLogStore(tmp_path / "kept")
    made: ContentStore = DirectoryContentStore(tmp_path / "kept")
    if request.param == "object storage":
        address = request.getfixturevalue("object_storage")
        logs = ObjectLogStore("logs", f"uploads/{tmp_path.name}", address)
        made = ObjectContentStore("logs", f"uploads/{tmp_path.name}", address)
    yield made, logs
    logs.close()


def put(
    store: ContentStore, directory: Path, content: bytes, namespace: str = "team-a"
) -> ContentKey:
    source = directory / "source"
    source.write_bytes(content)
    key = ContentKey(namespace=namespace, digest=sha256(content).hexdigest())
    store.put(key, source)
    return key


def content_of(store: ContentStore, key: ContentKey) -> bytes | None:
    pieces = store.read(key)
    return None if pieces is None else b"".join(pieces)


def test_an_upload_is_read_as_it_was_put_and_kept_once(
    stores: tuple[ContentStore, LogStore], tmp_path: Path
) -> None:
    store, _ = stores
    content = bytes(range(256)) * 10_000
    key = put(store, tmp_path, content)
    again = put(store, tmp_path, content)
    assert again == key
    assert content_of(store, key) == content
    assert [each.key for each in store.stored()] == [key]


def test_a_range_of_an_upload_is_read_alone(
    stores: tuple[ContentStore, LogStore], tmp_path: Path
) -> None:
    store, _ = stores
    key = put(store, tmp_path, b"0123456789")
    (before,) = store.stored()
    assert store.read_range(key, 2, 3) == b"234"
    assert store.read_range(key, 8, 100) == b"89"
    assert store.read_range(key, 10, 1) == b""
    assert store.read_range(ContentKey(namespace="team-b", digest=key.digest), 0, 1) is None
    assert store.stored() == [before], "a range is no use that retention counts"


def test_uploads_of_other_namespaces_and_unknown_ones_are_absent(
    stores: tuple[ContentStore, LogStore], tmp_path: Path
) -> None:
    store, _ = stores
    key = put(store, tmp_path, b"content")
    other = ContentKey(namespace="team-b", digest=key.digest)
    assert content_of(store, other) is None
    assert not store.touch(other)
    assert store.touch(key)
    store.remove([other, key])
    assert content_of(store, key) is None
    assert store.stored() == []


def test_pod_logs_and_uploads_at_one_place_do_not_see_each_other(
    stores: tuple[ContentStore, LogStore], tmp_path: Path
) -> None:
    store, logs = stores
    key = put(store, tmp_path, b"content")
    send(logs, chunk(0, b"line\n"))
    assert [each.run for each in logs.stored()] == [run()]
    assert [each.key for each in store.stored()] == [key]


def test_uploads_that_no_workload_names_are_removed_after_retention(
    stores: tuple[ContentStore, LogStore], tmp_path: Path
) -> None:
    store, _ = stores
    key = put(store, tmp_path, b"content")
    (found,) = store.stored()
    assert found == StoredContent(key=key, used_at=found.used_at)

    def remove(seconds: int) -> int:
        at = found.used_at + seconds * SECOND
        return remove_old_uploads(store, lambda: (ObjectSet(), ()), at)

    assert remove(WEEK_SECONDS) == 0
    assert store.stored() == [found]  # A read would be a use.
    assert remove(WEEK_SECONDS + 1) == 1
    assert content_of(store, key) is None
