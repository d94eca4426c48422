"""Directories as uploads: one archive for equal content, sent once and named by its digest."""

import gzip
import io
import os
import tarfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import msgspec
from pathspec import GitIgnoreSpec

from headgate.client.client import HeadgateClient
from headgate.client.transport import Problem, ServerProblem

UPLOAD = "headgate.dev/upload"
"""The annotation of a pod template that names the upload in which its pods begin."""
IGNORE_FILE = ".headgateignore"
MODIFIED_AT = 946_684_800
"""2000-01-01: one time for all files, as ZIP archives made of them cannot be from before 1980."""


MAX_ARCHIVE_BYTES = 1 << 30
"""Larger ones do not fit into memory; the server's limit is far below."""


class NotUploadable(Exception):
    """A directory cannot be shipped; the message names the path and why."""


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """A directory as a compressed archive (tar.gz), and the SHA-256 of its bytes."""

    digest: str
    content: bytes


def archive_of(directory: Path) -> Archive:
    """Returns the archive of a directory: equal content gives equal bytes.

    Names are sorted, times and owners are fixed, and modes are kept. `.headgateignore` excludes by
    the patterns of .gitignore. Raises `NotUploadable` for a symbolic link that leaves the
    directory, for a file that is neither regular nor a link, and where nothing can be read.
    """
    root = directory.resolve()
    if not root.is_dir():
        raise NotUploadable(f"{directory} is no directory")
    made = io.BytesIO()
    try:
        with (
            gzip.GzipFile(filename="", mode="wb", fileobj=made, mtime=0) as compressed,
            tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in _members(root, _ignored(root)):
                _add(archive, root, path)
                if made.tell() > MAX_ARCHIVE_BYTES:
                    raise NotUploadable(f"{directory} has more than {MAX_ARCHIVE_BYTES} bytes")
    except OSError as failure:
        raise NotUploadable(f"can't read {failure.filename}: {failure.strerror}") from failure
    content = made.getvalue()
    return Archive(digest=sha256(content).hexdigest(), content=content)


def send_upload(client: HeadgateClient, namespace: str, archive: Archive) -> bool:
    """Sends an archive unless the server has it; returns whether it was sent.

    Raises `ServerProblem` with status 413 before anything is sent where it is too large.
    """
    path = f"/v1/namespaces/{quote(namespace, safe='')}/uploads/{archive.digest}"
    known = client.read(path)
    if known["present"]:
        return False
    size, maximum = len(archive.content), int(known["maxBytes"])
    if size > maximum:
        raise ServerProblem(
            Problem(
                status=413,
                code="UploadTooLarge",
                detail=f"The upload has {size} bytes; at most {maximum} allowed",
                remedy=f"Leave files out by {IGNORE_FILE}, or use a shared file system.",
            )
        )
    client.send_content(path, archive.content)
    return True


def _ignored(root: Path) -> GitIgnoreSpec:
    try:
        lines = (root / IGNORE_FILE).read_text().splitlines()
    except FileNotFoundError:
        lines = []
    return GitIgnoreSpec.from_lines(lines)


def _members(root: Path, ignored: GitIgnoreSpec) -> Iterator[Path]:
    """Directories before what is in them; links are never followed."""
    for name in sorted(entry.name for entry in os.scandir(root)):
        yield from _below(root, root / name, ignored)


def _below(root: Path, path: Path, ignored: GitIgnoreSpec) -> Iterator[Path]:
    is_directory = path.is_dir() and not path.is_symlink()
    inside = path.relative_to(root).as_posix()
    if ignored.match_file(f"{inside}/" if is_directory else inside):
        return
    yield path
    if is_directory:
        for name in sorted(entry.name for entry in os.scandir(path)):
            yield from _below(root, path / name, ignored)


def _add(archive: tarfile.TarFile, root: Path, path: Path) -> None:
    inside = path.relative_to(root).as_posix()
    if path.is_symlink():
        target = path.readlink()
        goals = (Path(os.path.normpath(path.parent / target)), Path(os.path.realpath(path)))
        if target.is_absolute() or not all(goal.is_relative_to(root) for goal in goals):
            raise NotUploadable(f"symbolic link {inside} leaves the directory: {target}")
    elif not (path.is_dir() or path.is_file()):
        raise NotUploadable(f"{inside} is neither a file, a directory nor a symbolic link")
    member = archive.gettarinfo(path, inside)
    if member.islnk():
        member.type, member.linkname, member.size = tarfile.REGTYPE, "", path.stat().st_size
    member.mtime = MODIFIED_AT
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    if not member.isreg():
        archive.addfile(member)
        return
    with path.open("rb") as content:
        archive.addfile(member, content)
