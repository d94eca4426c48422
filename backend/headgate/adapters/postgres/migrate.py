"""Brings a database to the schema this program needs."""

import importlib.util
from pathlib import Path

from alembic import command
from alembic.config import Config

REPOSITORY = Path(__file__).resolve().parents[4] / "migrations"


def migrate(url: str, revision: str = "head") -> None:
    """Upgrade the database at `url`; safe to call from several processes at once, and again."""
    command.upgrade(alembic_config(url), revision)


def alembic_config(url: str) -> Config:
    """Alembic's configuration for one database; there is no ini file."""
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
