"""`python -m tests.cycles URL`: cycles of an installation, at random, run again everywhere."""

import argparse

from tests.cycles.every_adapter import HASH_SEEDS, compare_on_every_adapter


def main() -> None:
    """Compare, say how many differ, and fail if any does."""
    parser = argparse.ArgumentParser(prog="python -m tests.cycles", description=__doc__)
    parser.add_argument("database_url", help="the database with the log; it is only read")
    parser.add_argument("--cycles", type=int, default=50)
    options = parser.parse_args()
    found = compare_on_every_adapter(options.database_url, options.cycles)
    for name in found.different:
        print(f"{name} came out otherwise")  # noqa: T201 - talk
    where = f"{len(HASH_SEEDS)} hash seeds, Postgres and memory"
    print(f"{found.cycles} cycles on {where}: {len(found.different)} differ")  # noqa: T201
    raise SystemExit(bool(found.different) or not found.cycles)


if __name__ == "__main__":
    main()
