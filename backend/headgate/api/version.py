"""The version that is installed."""

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("headgate")
    except PackageNotFoundError:
        return "0"


VERSION = _installed()
