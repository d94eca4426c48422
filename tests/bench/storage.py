"""`python -m tests.bench.storage`: what one workload takes in Postgres, by table, and its WAL.

Of pending workloads, and with `--life` of workloads that ran and succeeded, with the rows of all
read models. What can be deleted at any time, caches of folds and records of cycles, is left out.
Measured is an installation that has trained a dictionary, as upkeep does, on earlier workloads.
"""

import argparse

import msgspec
import psycopg

from headgate.adapters.postgres.connections import USES_OF_DICTIONARY
from headgate.bootstrap import Platform
from tests.bench.population import Population, filled_database
from tests.builders.mixes import MIXES, Mix

EARLIER = 2_000
"""Workloads before those that are measured; a dictionary is trained on them."""
LIVES_A_MINUTE = 2_000
DELETABLE = ("state_cache", "state_part", "cycle_record")
TABLES = """
SELECT coalesce(parent.relname, child.relname), sum(pg_total_relation_size(child.oid))::bigint
FROM pg_class AS child
LEFT JOIN pg_inherits ON pg_inherits.inhrelid = child.oid
LEFT JOIN pg_class AS parent ON parent.oid = pg_inherits.inhparent
WHERE child.relkind = 'r' AND child.relnamespace = 'public'::regnamespace
GROUP BY 1
"""


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes for each workload that was added: of each table with its indexes, and of WAL."""

    tables: dict[str, float]
    wal: float

    @property
    def total(self) -> float:
        """The bytes of all tables."""
        return sum(self.tables.values())


def main() -> None:
    """Adds workloads of a mix to an empty log, and prints a line for each table that grew."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.storage", description=__doc__)
    parser.add_argument("--submits", type=int, default=20_000)
    parser.add_argument("--mix", choices=MIXES, default="training")
    parser.add_argument("--life", action="store_true", help="whole lives instead of submits")
    options = parser.parse_args()
    with filled_database() as (_, platform, population):
        population.add_finished(options.mix, EARLIER // 2)
        population.add_pending(options.mix, EARLIER // 2)
        found = storage_each(
            platform, population, options.mix, options.submits, is_life=options.life
        )
    print(f"{options.mix}, {'whole lives' if options.life else 'pending'}: bytes for each")
    for table, size in sorted(found.tables.items(), key=lambda item: -item[1]):
        if round(size):
            print(f"  {table:24} {size:9,.0f}")
    print(f"  {'all tables':24} {found.total:9,.0f}")
    print(f"  {'WAL':24} {found.wal:9,.0f}")


def storage_each(
    platform: Platform, population: Population, mix: Mix, count: int, *, is_life: bool
) -> Storage:
    """Trains a dictionary and adds so many workloads; returns what each took when all follow."""
    url = platform.settings.database_url
    train(platform, population, mix)
    follow(platform)
    sizes, wal = _sizes(url), _wal(url)
    if is_life:
        _add_lives(population, mix, count, url)
    else:
        population.add_pending(mix, count)
    follow(platform)
    grown = {table: size - sizes.get(table, 0) for table, size in _sizes(url).items()}
    tables = {table: size / count for table, size in grown.items() if table not in DELETABLE}
    return Storage(tables=tables, wal=(_wal(url) - wal) / count)


def train(platform: Platform, population: Population, mix: Mix) -> None:
    """Trains a dictionary, and appends until it is used: connections look for it now and then.

    Else the first groups of a bench, of hundreds of workloads each, would be stored as JSON.
    """
    platform.maintenance.train_dictionary()
    for _ in range(USES_OF_DICTIONARY + 1):
        population.add_pending(mix, 1)


def _add_lives(population: Population, mix: Mix, count: int, url: str) -> None:
    """Adds lives, and vacuums their rows as an installation does that takes its time for them.

    Autovacuum looks once a minute: whether it came during the bench decided over 800 bytes a life.
    With 33 lives a second it comes as often as here.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        for start in range(0, count, LIVES_A_MINUTE):
            population.add_finished(mix, min(LIVES_A_MINUTE, count - start))
            connection.execute("VACUUM workload")


def follow(platform: Platform) -> None:
    """Lets all followed read models reach the end of the log."""

    def fail(name: str, failure: Exception) -> None:
        raise RuntimeError(f"{name} does not follow") from failure

    platform.follower_runner(fail).advance_all(lambda: False)


def _sizes(url: str) -> dict[str, int]:
    with psycopg.connect(url, autocommit=True) as connection:
        return {str(table): int(size) for table, size in connection.execute(TABLES)}


def _wal(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
        ).fetchone()
    assert found is not None
    return int(found[0])


if __name__ == "__main__":
    main()
