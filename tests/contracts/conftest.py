"""Every test that asks for `adapters` runs once on each world."""

from collections.abc import Iterator

import pytest

from tests.contracts.adapters import Adapters, in_memory, on_postgres


@pytest.fixture(params=["memory", "postgres"])
def adapters(request: pytest.FixtureRequest) -> Iterator[Adapters]:
    """An empty installation."""
    if request.param == "memory":
        yield in_memory()
    else:
        with on_postgres(request.getfixturevalue("fresh_database_url")) as opened:
            yield opened


@pytest.fixture
def on_postgres_log(fresh_database_url: str) -> Iterator[tuple[Adapters, str]]:
    """An empty installation on Postgres, and its database."""
    with on_postgres(fresh_database_url) as opened:
        yield opened, fresh_database_url
