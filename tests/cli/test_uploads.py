"""Archives of directories: equal content gives equal bytes, and nothing leaves the directory."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from headgate.client.uploads import NotUploadable, archive_of


def tree(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names_in(directory: Path) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(archive_of(directory).content)) as archive:
        return archive.getnames()


def test_equal_directories_have_one_digest_whatever_their_times(tmp_path: Path) -> None:
    first = tree(tmp_path / "first", b="2", a="1", below__c="3")
    second = tree(tmp_path / "second", below__c="3", a="1", b="2")
    for path in (*second.rglob("*"), second):
        os.utime(path, (1_000, 1_000))
    assert archive_of(first) == archive_of(second)
    (second / "a").chmod(0o755)
    assert archive_of(first).digest != archive_of(second).digest


def test_modes_and_links_are_kept(tmp_path: Path) -> None:
    root = tree(tmp_path, below__run="#!/bin/sh\n")
    (root / "below/run").chmod(0o750)
    (root / "link").symlink_to("below/run")
    os.link(root / "below/run", root / "same")
    with tarfile.open(fileobj=io.BytesIO(archive_of(root).content)) as archive:
        assert archive.getnames() == ["below", "below/run", "link", "same"]
        assert archive.getmember("below/run").mode == 0o750
        assert archive.getmember("link").linkname == "below/run"
        copy = archive.extractfile("same")
        assert copy is not None
        assert copy.read() == b"#!/bin/sh\n"


def test_the_ignore_file_excludes_like_git(tmp_path: Path) -> None:
    ignore = "*.log\n/data/\n!keep.log\n"
    tree(tmp_path, data__big="x", below__data__small="x", a="1", keep="1")
    for name in ("a.log", "keep.log", "below/b.log"):
        (tmp_path / name).write_text("x")
    (tmp_path / ".headgateignore").write_text(ignore)
    assert names_in(tmp_path) == [
        ".headgateignore", "a", "below", "below/data", "below/data/small", "keep", "keep.log",
    ]  # fmt: skip


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "../below/../../outside"])
def test_a_link_that_leaves_the_directory_is_refused_with_its_path(
    tmp_path: Path, target: str
) -> None:
    root = tree(tmp_path / "root", below__a="1")
    tree(tmp_path, outside="secret")
    (root / "below/link").symlink_to(target)
    with pytest.raises(NotUploadable, match=f"symbolic link below/link leaves .*: {target}"):
        archive_of(root)


def test_what_is_no_file_or_no_directory_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotUploadable, match="pipe is neither"):
        archive_of(tmp_path)
    with pytest.raises(NotUploadable, match="is no directory"):
        archive_of(tmp_path / "pipe")
