"""`migrate`: bring a database to the schema this program needs."""

from headgate.application.ports import Unavailable
from headgate.bootstrap import migrate as bring_up_to_date
from headgate.cli.failures import CommandFailed
from headgate.cli.presentation.consoles import say
from headgate.settings import from_environment


def migrate() -> None:
    """Bring the database of HEADGATE_DATABASE_URL to the schema this program needs."""
    url = from_environment().database_url
    if not url:
        raise CommandFailed(
            "no database was named", remedy="Set HEADGATE_DATABASE_URL; `headgate up` needs none."
        )
    try:
        bring_up_to_date(url)
    except Unavailable as outage:
        raise CommandFailed(
            str(outage), remedy="Is the server up, and may this user connect?"
        ) from outage
    say("The database is up to date.")
