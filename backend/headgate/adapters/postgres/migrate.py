"""Brings a database to the schema this program needs.

Alembic is loaded only when it is needed: with SQLAlchemy it is a third of all that a worker would
load, and nothing else of Headgate uses either.
"""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from alembic.config import Config

REPOSITORY = Path(__file__).resolve().parents[4] / "migrations"


def migrate(url: str, revision: str = "head") -> None:
    """Upgrade the database at `url`; safe to call from several processes at once, and again."""
    from alembic import command  # noqa: PLC0415 - loaded late, see above

    command.upgrade(alembic_config(url), revision)


def newest_revision(url: str) -> str:
    """The revision this program needs the database at `url` to stand at."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - loaded late, see above

    return ScriptDirectory.from_config(alembic_config(url)).get_current_head() or ""


def alembic_config(url: str) -> "Config":
    """Alembic's configuration for one database; there is no ini file."""
    from alembic.config import Config  # noqa: PLC0415 - loaded late, see above

    config = Config()
    config.set_main_option("script_location", str(migrations_directory()))
    config.set_main_option("sqlalchemy.url", url.replace("%", "%%"))
    return config


def migrations_directory() -> Path:
    """Where the migrations lie: in the repository, or else in the installed package."""
    # First the repository, as an editable installation holds an old copy of the package.
    if (REPOSITORY / "env.py").exists():
        return REPOSITORY
    installed = importlib.util.find_spec("headgate_migrations")
    assert installed is not None
    assert installed.submodule_search_locations, "the migrations belong to the installation"
    return Path(next(iter(installed.submodule_search_locations)))
