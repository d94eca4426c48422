"""Files of an installation: private, and never what a link leads to."""

import os
import tempfile
from pathlib import Path

import pytest

from headgate.embedded.run_directory import NotPrivate, RunDirectory, fallback_directory, give_to
from headgate.embedded.servers import socket_path


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A directory with a name too long for a socket."""
    found = tmp_path / ("long" * 30)
    found.mkdir()
    return found


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(shared))


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_lock_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    (tmp_path / "run.lock").touch(mode=0o644)

    with run.claim() or pytest.fail("the lock is free"):
        assert mode_of(tmp_path / "run.lock") == 0o600
        assert run.claim() is None


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / "run.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        RunDirectory(tmp_path).claim()


def test_what_is_replaced_does_not_write_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "run.new").symlink_to(victim)

    RunDirectory(tmp_path).record_running("http://x", database_url="", broker_url="")

    assert victim.read_text() == "kept"
    assert mode_of(tmp_path / "run.json") == 0o600


def test_a_fallback_directory_is_private(deep: Path) -> None:
    chosen = fallback_directory(deep, "redis")

    assert mode_of(chosen) == 0o700
    assert fallback_directory(deep, "redis") == chosen
    assert socket_path(deep) == chosen / "redis.sock"


def test_a_link_in_place_of_a_fallback_directory_is_refused(deep: Path, tmp_path: Path) -> None:
    chosen = fallback_directory(deep, "postgres")
    chosen.rmdir()
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    owner = target.stat().st_uid
    chosen.symlink_to(target)

    with pytest.raises(NotPrivate, match="is a link"):
        fallback_directory(deep, "postgres")

    assert (target.stat().st_uid, list(target.iterdir())) == (owner, [])


def test_a_fallback_directory_that_others_may_write_to_is_refused(deep: Path) -> None:
    fallback_directory(deep, "redis").chmod(0o777)

    with pytest.raises(NotPrivate, match="of another user"):
        fallback_directory(deep, "redis")


def test_a_fallback_directory_of_another_user_is_refused(
    deep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fallback_directory(deep, "redis")
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)

    with pytest.raises(NotPrivate):
        fallback_directory(deep, "redis")


def test_a_directory_is_given_away_and_no_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    give_to(tmp_path / "real", os.getuid(), os.getgid())
    with pytest.raises(OSError, match=r"link|directory"):
        give_to(tmp_path / "link", os.getuid(), os.getgid())
