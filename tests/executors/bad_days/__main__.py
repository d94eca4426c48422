"""`python -m tests.executors.bad_days`: one row for each case, `case → state, reason, leaked 0`.

A real API, worker, Postgres and agents; each case ends in a clear state with a reason and leaves
nothing on the host. Ends with 1 if a row is wrong. Cases that this machine cannot do are `skipped`.
"""

import argparse
import sys
import time
import traceback
from collections.abc import Iterator

from tests.executors.bad_days import agent_faults, false_reports, pod_faults, server_faults
from tests.executors.bad_days.cases import Case, Seen, Site, Skipped
from tests.executors.installation import installation

CASES: tuple[Case, ...] = (
    *pod_faults.CASES,
    *agent_faults.CASES,
    *server_faults.CASES,
    *false_reports.CASES,
)


def main() -> int:
    """0 if every row is as expected, else 1."""
    asked = _arguments()
    chosen = [case for case in CASES if _is_chosen(case, asked.only)]
    wrong = 0
    with installation() as made:
        site = Site(made)
        for case in chosen:
            began = time.monotonic()
            for line, is_right in _rows(case, site):
                wrong += not is_right
                print(line, flush=True)
            if asked.times:
                print(f"    {time.monotonic() - began:.1f} s", flush=True)
    print(f"{wrong} rows are wrong" if wrong else "every row is right")
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.executors.bad_days", description=__doc__)
    parser.add_argument(
        "--only", default=[""], nargs="+", help="cases with one of these texts in their names"
    )
    parser.add_argument("--times", action="store_true", help="print how long each case took")
    return parser.parse_args()


def _is_chosen(case: Case, texts: list[str]) -> bool:
    return any(text in name for text in texts for name, _, _ in case.rows)


def _rows(case: Case, site: Site) -> Iterator[tuple[str, bool]]:
    """The line of each row, and whether it is as expected."""
    rows = list(case.rows)
    failed = "nothing was seen"
    try:
        for seen in case.see(site):
            name, state, reason = rows.pop(0)
            yield _line(name, seen, (state, reason))
    except Skipped as why:
        for name, _, _ in rows:
            yield f"{name} → skipped: {why}", True
        return
    except Exception:  # noqa: BLE001 - the other cases are to be seen too
        failed = traceback.format_exc()
    for name, _, _ in rows:
        yield f"{name} → WRONG: {failed}", False


def _line(name: str, seen: Seen, expected: tuple[str, str]) -> tuple[str, bool]:
    told = f"{name} → {seen.state}, {seen.reason}, leaked {len(seen.leaked)}"
    problems = [seen.wrong] if seen.wrong else []
    if (seen.state, seen.reason) != expected:
        problems.append(f"expected {', '.join(expected)}")
    problems += list(seen.leaked[:5])
    if problems:
        return f"{told}  WRONG: {'; '.join(problems)}", False
    return told, True


if __name__ == "__main__":
    sys.exit(main())
