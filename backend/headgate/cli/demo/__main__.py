"""`python -m headgate.cli.demo`: the demo against the server of HEADGATE_URL."""

from pathlib import Path

from headgate.cli.demo.driver import Demo
from headgate.cli.executor.command import stop_signal
from headgate.client.connection import find_connection
from headgate.settings import from_environment


def main() -> None:
    """Runs the demo until stopped."""
    settings = from_environment()
    connection = find_connection(
        environment=(settings.url, settings.token),
        cacert=str(settings.cacert or ""),
        home=Path.home(),
        directory=settings.directory,
    )
    Demo(connection, stop_signal(), seed=0).run()


if __name__ == "__main__":
    main()
