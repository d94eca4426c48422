"""`python -m tests.bench.migration`: the migration of an installation to the newest schema.

It is filled by the present code, brought back to the schema before compressed bodies, which has
what that release had written, and migrated; printed are times and sizes, and whether the point of
the log and the findings of `verify` are the same. There are some, as the filler decides nothing.
"""

import argparse
import time
from collections import Counter

import psycopg
from alembic import command

from headgate.adapters.postgres.maintenance import alembic_config
from headgate.application.verify.verify import Verifier, audit_chain
from headgate.bootstrap import Platform, migrate, open_platform
from headgate.settings import Settings
from tests.bench.population import filled_database
from tests.bench.storage import follow
from tests.builders.mixes import MIXES

BEFORE = "0026"
SIZE = "SELECT pg_database_size(current_database())"


def main() -> None:
    """Fills an installation, migrates it and prints what it took."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.migration", description=__doc__)
    parser.add_argument("--pending", type=int, default=150_000)
    parser.add_argument("--finished", type=int, default=150_000)
    parser.add_argument("--mix", choices=MIXES, default="training")
    options = parser.parse_args()
    with filled_database() as (_, platform, population):
        population.add_pending(options.mix, options.pending)
        population.add_finished(options.mix, options.finished)
        follow(platform)
        url = platform.settings.database_url
        point = platform.event_log.point_at(platform.event_log.head())
        before = _findings(platform)
        platform.close()
        began = time.monotonic()
        command.downgrade(alembic_config(url), BEFORE)
        print(f"back to {BEFORE}: {time.monotonic() - began:.1f} s, {_gigabytes(url):.2f} GB")
        began = time.monotonic()
        migrate(url)
        print(f"migrated: {time.monotonic() - began:.1f} s, {_gigabytes(url):.2f} GB")
        migrated = open_platform(Settings(database_url=url, broker_url="memory://"), name="bench")
        try:
            is_same = migrated.event_log.point_at(migrated.event_log.head()) == point
            print(f"the point at the head is {'the same' if is_same else 'ANOTHER'}")
            after = _findings(migrated)
            print(f"findings before {before}, after {after}; in read models and chain none")
            assert not _OF_STORE & after.keys()
        finally:
            migrated.close()


_OF_STORE = {"ReadModelShowsWhatItsStreamFoldsTo", "KeptCountsAreThoseOfRows", "ChainIsUnbroken"}


def _findings(platform: Platform) -> Counter[str]:
    """How often `verify` finds what, with the chain."""
    verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
    found = Counter(each.code for each in verifier.verify(lambda *_: None).findings)
    if audit_chain(platform.event_log).differs_at is not None:
        found["ChainIsUnbroken"] += 1
    return found


def _gigabytes(url: str) -> float:
    with psycopg.connect(url) as connection:
        row = connection.execute(SIZE).fetchone()
    assert row is not None
    return int(row[0]) / 1e9


if __name__ == "__main__":
    main()
