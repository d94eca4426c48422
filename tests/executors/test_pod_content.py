"""Uploads on an agent's host: fetched once, verified, and extracted without leaving the pod."""

import io
import tarfile
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from headgate.client.transport import Problem, ServerProblem
from headgate.client.uploads import archive_of
from headgate.executor.substrate import CannotStart, PodPlan, RunKey
from headgate.executor.substrates.agent.pod_content import FetchedUploads, extract
from headgate.executor.substrates.agent.run_directory import StartsLater


def plan(digest: str) -> PodPlan:
    return PodPlan(
        key=RunKey(workload="team-a/train", uid="u", attempt=1, pod_set="main", index=0, run=1),
        log_id="log",
        owner="",
        node="here",
        template={"metadata": {"annotations": {"headgate.dev/upload": digest}}},
        environment={},
        hosts=("here",),
    )


class Server:
    """Answers fetches with pieces, counts them, and knows when one has ended."""

    def __init__(self, *pieces: bytes, status: int = 200) -> None:
        self.pieces = pieces
        self.status = status
        self.fetched: list[tuple[str, str]] = []
        self.ended = threading.Event()

    def fetch(self, workload: str, digest: str) -> Iterator[bytes]:
        self.fetched.append((workload, digest))
        if self.status != 200:
            raise ServerProblem(Problem(status=self.status, detail="refused"))
        yield from self.pieces

    def awaited(self, uploads: FetchedUploads, digest: str) -> Path | None:
        """The archive once it is fetched."""
        with pytest.raises(StartsLater):
            uploads.archive_for(plan(digest))
        uploads.close()
        return uploads.archive_for(plan(digest))


def test_an_archive_is_fetched_once_for_all_pods_of_the_host(tmp_path: Path) -> None:
    server = Server(b"con", b"tent")
    digest = sha256(b"content").hexdigest()
    uploads = FetchedUploads(tmp_path, server.fetch, server.ended.set)
    first = server.awaited(uploads, digest)
    assert first is not None
    assert first.read_bytes() == b"content"
    assert uploads.archive_for(plan(digest)) == first
    assert server.fetched == [("team-a/train", digest)]
    assert server.ended.is_set()


def test_other_content_than_the_digest_names_is_refused(tmp_path: Path) -> None:
    server = Server(b"forged")
    uploads = FetchedUploads(tmp_path, server.fetch, server.ended.set)
    with pytest.raises(CannotStart, match="other content"):
        server.awaited(uploads, sha256(b"content").hexdigest())
    assert list((tmp_path / "uploads").iterdir()) == []


def test_a_refusal_of_the_server_ends_the_start_and_an_outage_does_not(tmp_path: Path) -> None:
    digest = sha256(b"content").hexdigest()
    refusing = Server(status=404)
    with pytest.raises(CannotStart, match="refused"):
        refusing.awaited(FetchedUploads(tmp_path, refusing.fetch, refusing.ended.set), digest)
    away = Server(status=503)
    uploads = FetchedUploads(tmp_path, away.fetch, away.ended.set)
    with pytest.raises(StartsLater):
        away.awaited(uploads, digest)
    uploads.close()


def test_each_pod_gets_its_own_copy(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "run").write_text("#!/bin/sh\n")
    (source / "run").chmod(0o755)
    archive = tmp_path / "archive"
    archive.write_bytes(archive_of(source).content)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        extract(archive, tmp_path / name, None)
    (tmp_path / "one/run").write_text("changed")
    assert (tmp_path / "two/run").read_text() == "#!/bin/sh\n"
    assert (tmp_path / "two/run").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("kind", ["name", "link", "no archive"])
def test_an_archive_that_leaves_the_directory_is_refused(tmp_path: Path, kind: str) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        member = tarfile.TarInfo("../outside" if kind == "name" else "link")
        if kind == "link":
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)
    given = tmp_path / "archive"
    given.write_bytes(b"no archive" if kind == "no archive" else made.getvalue())
    (tmp_path / "work").mkdir()
    with pytest.raises(CannotStart, match="upload"):
        extract(given, tmp_path / "work", None)
    assert list((tmp_path / "work").iterdir()) == []
    assert not (tmp_path / "outside").exists()
