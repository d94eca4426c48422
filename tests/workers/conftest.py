"""Every test that asks for `adapters` runs once on each world."""

from tests.contracts.conftest import adapters

__all__ = ["adapters"]
