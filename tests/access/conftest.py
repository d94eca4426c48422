"""The real application over a real database, as the tests of the API have it."""

from tests.api.conftest import *  # noqa: F403 - fixtures are found by name
