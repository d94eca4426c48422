"""The server is found by flags, environment, the user's file, the local instance, in that order."""

from pathlib import Path

import pytest

from headgate.client.contexts import (
    CONFIGURATION_PATH,
    DEFAULT_URL,
    UnsafeConfiguration,
    find_connection,
)
from headgate.client.transport import Connection


def look(tmp_path: Path, **given: str) -> Connection:
    environment = (given.pop("env_url", ""), given.pop("env_token", ""))
    return find_connection(
        home=tmp_path, directory=tmp_path / "local", environment=environment, **given
    )


def keep(tmp_path: Path, mode: int = 0o600) -> None:
    path = tmp_path / CONFIGURATION_PATH
    path.parent.mkdir(parents=True)
    path.write_text('server = "https://kept"\ntoken = "kept-token"\n')
    path.chmod(mode)


def run_locally(tmp_path: Path) -> None:
    local = tmp_path / "local"
    local.mkdir()
    (local / "admin-token").write_text("local-token\n")
    (local / "run.json").write_text(
        '{"url": "http://127.0.0.1:9", "token_path": ".headgate/admin-token", "pid": 1}'
    )


def test_nothing_known_is_the_usual_address(tmp_path: Path) -> None:
    assert look(tmp_path).url == DEFAULT_URL


def test_the_local_instance_is_found_with_its_token(tmp_path: Path) -> None:
    run_locally(tmp_path)
    found = look(tmp_path)
    assert (found.url, found.token) == ("http://127.0.0.1:9", "local-token")


def test_the_users_file_precedes_the_local_instance(tmp_path: Path) -> None:
    run_locally(tmp_path)
    keep(tmp_path)
    assert look(tmp_path).token == "kept-token"


def test_the_environment_precedes_files_and_flags_before_all(tmp_path: Path) -> None:
    keep(tmp_path)
    there = {"env_url": "http://env", "env_token": "env-token"}
    assert (look(tmp_path, **there).url, look(tmp_path, **there).token) == (
        "http://env",
        "env-token",
    )
    assert look(tmp_path, **there, server="http://flag", token="flag").url == "http://flag"


def test_a_kept_token_is_not_sent_to_another_address(tmp_path: Path) -> None:
    keep(tmp_path)
    assert look(tmp_path, server="http://elsewhere").token == ""
    assert look(tmp_path, server="https://kept/").token == "kept-token"


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    keep(tmp_path, mode=0o644)
    with pytest.raises(UnsafeConfiguration):
        look(tmp_path)
