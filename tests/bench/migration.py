"""`python -m tests.bench.migration`: the migration of an installation to the newest schema.

It is filled by the present code, brought back to the schema before compressed bodies, which has
what that release had written, and migrated; printed are times and sizes, and whether `verify` finds
anything and the chain is the same.
"""

import argparse
import time

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
            _verify(migrated)
        finally:
            migrated.close()


def _verify(platform: Platform) -> None:
    began = time.monotonic()
    chain = audit_chain(platform.event_log)
    verifier = Verifier(platform.event_log, platform.read_models, platform.followers)
    verification = verifier.verify(lambda *_: None)
    print(
        f"verified in {time.monotonic() - began:.1f} s: chain differs at {chain.differs_at}, "
        f"{verification.position:,} events, {len(verification.findings)} violations"
    )
    for finding in verification.findings[:5]:
        print(f"  {finding.position} {finding.stream} {finding.code} {finding.detail}")


def _gigabytes(url: str) -> float:
    with psycopg.connect(url) as connection:
        row = connection.execute(SIZE).fetchone()
    assert row is not None
    return int(row[0]) / 1e9


if __name__ == "__main__":
    main()
