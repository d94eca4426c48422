"""A primary and a standby of one Postgres behind one address, and how they change places."""

import os
import shutil
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from headgate.embedded import servers
from headgate.embedded.servers import EmbeddedPostgres, start_postgres
from tests.processes.programs import wait_until

SETTINGS = {"fsync": "off", "shared_buffers": "64MB"}
KEPT_LOG = "wal_keep_size = 256MB\n"
"""In the configuration file, so that the recovery of `pg_rewind` keeps what it needs as well."""
ROLES = ("one", "two")


class Replicas:
    """Two servers, and `url`, which leads to the one that serves."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._address = directory / "address"
        self.serving, self.standby = ROLES
        self._servers = {self.serving: start_postgres(directory / self.serving, SETTINGS)}
        with (directory / self.serving / "data" / "postgresql.conf").open("a") as configuration:
            configuration.write(KEPT_LOG)
        self.url = f"postgresql://headgate@/headgate?host={self._address}"
        self.lead_to(self.serving)

    def server(self, name: str) -> EmbeddedPostgres:
        """One of the servers."""
        return self._servers[name]

    def lead_to(self, name: str) -> None:
        """Let the address lead to a server from now on."""
        fresh = self._directory / "address.new"
        fresh.symlink_to(self.server(name).socket_directory)
        fresh.replace(self._address)

    def copy_of_serving(self, name: str) -> None:
        """A backup of the serving server, in the directory of another one."""
        target = self._directory / name
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        servers._hand_over(target)  # noqa: SLF001 - as every directory of a server
        servers._run(  # noqa: SLF001 - as the user of the server
            "pg_basebackup", "--dbname", self._source(), "--pgdata", str(target / "data"),
            "--checkpoint", "fast", "--wal-method", "stream", "--write-recovery-conf",
        )  # fmt: skip

    def start_standby(self) -> None:
        """Start the standby; it streams from the serving server."""
        self._servers[self.standby] = start_postgres(self._directory / self.standby, SETTINGS)

    def await_standby(self) -> None:
        """Return once the standby has everything that the serving server has now."""
        (position,) = _answer(self.server(self.serving), "SELECT pg_current_wal_lsn()")
        query = f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn"
        wait_until(lambda: _answer(self.server(self.standby), query) == (True,), "it has caught up")

    def lag(self) -> None:
        """Let the standby fall behind from now on."""
        self.server(self.standby).stop()

    def crash(self) -> None:
        """End the serving server at once."""
        data = self._directory / self.serving / "data"
        servers._run("pg_ctl", "stop", "-D", str(data), "-m", "immediate", "-w")  # noqa: SLF001

    def promote(self) -> None:
        """Start the standby alone and let it be the serving server; the address does not follow."""
        self.start_standby()
        data = self._directory / self.standby / "data"
        servers._run("pg_ctl", "promote", "-D", str(data), "-w")  # noqa: SLF001
        self.serving, self.standby = self.standby, self.serving

    def rejoin(self) -> None:
        """Rewind the server that crashed to where the other one took over; it is the standby."""
        target = self._directory / self.standby / "data"
        servers._run(  # noqa: SLF001 - as the user of the server
            "pg_rewind", "--target-pgdata", str(target), "--source-server", self._source(),
            "--write-recovery-conf",
        )  # fmt: skip
        self.start_standby()

    def restore(self, name: str) -> None:
        """Replace the data of the serving server with a copy; it is not a standby of anything."""
        data = self._directory / self.serving / "data"
        shutil.rmtree(data)
        shutil.copytree(self._directory / name / "data", data, copy_function=_copy_with_owner)
        _copy_owners(self._directory / name / "data", data)
        (data / "standby.signal").unlink()
        self._servers[self.serving] = start_postgres(self._directory / self.serving, SETTINGS)

    def end(self) -> None:
        """Stop what runs."""
        for server in self._servers.values():
            server.stop()

    def _source(self) -> str:
        return make_conninfo(self.server(self.serving).url_of("postgres"))


def _answer(server: EmbeddedPostgres, query: str) -> "tuple[object, ...]":
    with psycopg.connect(server.url_of("postgres"), autocommit=True) as connection:
        row = connection.execute(query.encode()).fetchone()
    assert row is not None
    return row


def _copy_with_owner(source: str, target: str) -> str:
    shutil.copy2(source, target)
    return target


def _copy_owners(source: Path, target: Path) -> None:
    for path in (source, *source.rglob("*")):
        owner = path.stat()
        os.chown(target / path.relative_to(source), owner.st_uid, owner.st_gid)
