"""The servers of an installation: external ones by URL, or embedded ones under its directory."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from headgate.embedded.children import Program
from headgate.embedded.postgres import EmbeddedPostgres, PostgresFailed, start_postgres
from headgate.embedded.programs import broker_program
from headgate.embedded.redis import redis_command, redis_url
from headgate.embedded.run_directory import RunDirectory
from headgate.settings import Settings

SECONDS_BETWEEN_LOOKS = 2.0


@dataclass(slots=True)
class Servers:
    """The embedded servers of one installation, as far as no URL names real ones."""

    settings: Settings
    directory: RunDirectory
    tell: Callable[[str, str], None]
    _postgres: EmbeddedPostgres | None = None
    _looked_at: float = field(default=0.0)

    def start(self) -> Settings:
        """Start the database; the settings with both URLs filled in. Raises `PostgresFailed`."""
        settings = self.settings
        if not settings.database_url:
            self._postgres = start_postgres(self.directory.root / "postgres")
            settings = replace(settings, database_url=self._postgres.url)
        if not settings.broker_url:
            settings = replace(settings, broker_url=redis_url(self.directory.root / "broker"))
        return settings

    def programs(self) -> tuple[Program, ...]:
        """The servers that run as children. Raises `RedisMissing`."""
        if self.settings.broker_url:
            return ()
        command = redis_command(self.directory.root / "broker")
        return (broker_program(command, self.directory.logs),)

    def look(self) -> None:
        """Start the database again if it is gone; its clients wait and continue."""
        if self._postgres is None or time.monotonic() - self._looked_at < SECONDS_BETWEEN_LOOKS:
            return
        self._looked_at = time.monotonic()
        if self._postgres.is_running():
            return
        self.tell("database", "is gone; starting it again")
        try:
            self._postgres = start_postgres(self.directory.root / "postgres")
        except PostgresFailed as failure:
            self.tell("database", str(failure))

    def stop(self) -> None:
        """End the database; nothing committed is lost."""
        if self._postgres is not None:
            self._postgres.stop()
