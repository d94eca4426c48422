"""Run Kueue's test cases through the engine and say what differs."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from tests.architecture.sources import ROOT
from tests.conformance.cases import Case, case_files, read_cases
from tests.conformance.pass_counts import record
from tests.conformance.verdicts import Verdict, avoided_traps, counted, judge, listed_rules

FOLDER = ROOT.parent / "shared" / "conformance"


def main() -> int:
    """Exit code 1 if a case failed."""
    arguments = _arguments()
    files = arguments.file or (case_files(FOLDER) if FOLDER.is_dir() else [])
    if not files:
        sys.stdout.write(
            f"Skipped: the conformance corpus {FOLDER} is absent. Name files with --file.\n"
        )
        return 0
    cases = [case for path in files for case in read_cases(path)]
    verdicts = [judge(case) for case in cases if _is_asked_for(case, arguments.area)]
    if arguments.record:
        record(verdicts)
    sys.stdout.write(_as_json(verdicts) if arguments.json else _as_text(verdicts))
    return 1 if counted(verdicts)["failed"] else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--area", help="only files with names that begin so (cache, queue, ...)")
    parser.add_argument("--file", action="append", type=Path, help="this file; may be repeated")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--record", action="store_true", help="write down what passes now")
    return parser.parse_args()


def _is_asked_for(case: Case, area: str | None) -> bool:
    return area is None or case.area == area


def _as_json(verdicts: list[Verdict]) -> str:
    counts = counted(verdicts)
    document = {
        "passed": counts["passed"],
        "failed": counts["failed"],
        "listed": counts["listed"],
        "skipped": counts["skipped"],
        "files": {file: dict(found) for file, found in _by_file(verdicts).items()},
        "cases": verdicts,
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"


def _as_text(verdicts: list[Verdict]) -> str:
    lines = []
    for verdict in verdicts:
        if verdict.outcome == "failed":
            lines.append(f"FAILED {verdict.file} {verdict.name}")
            lines.extend(f"    {reason}" for reason in verdict.reasons)
    lines.extend(
        f"LISTED {verdict.file} {verdict.name}\n    {verdict.reasons[0]}"
        for verdict in verdicts
        if verdict.outcome == "listed"
    )
    lines.extend(_rules(verdicts))
    lines.extend(f"TRAP {number}\n    {trap.reason}" for number, trap in avoided_traps().items())
    for file, found in _by_file(verdicts).items():
        lines.append(f"{file}: {_summary(found)}, {found['skipped']} skipped")
    lines.append(_summary(counted(verdicts)))
    return "\n".join(lines) + "\n"


def _rules(verdicts: list[Verdict]) -> Iterator[str]:
    """What each rule applied to, and which of that agrees without it."""
    for name, rule in listed_rules().items():
        found = [verdict for verdict in verdicts if name in verdict.rules]
        needless = [verdict.name for verdict in found if verdict.outcome == "passed"]
        trap = f" (trap {rule.trap})" if rule.trap else ""
        yield f"RULE {name}{trap}: {len(found)} cases"
        yield from (f"    {verdict.name}" for verdict in found)
        if needless:
            yield f"    NEEDLESS, as they agree without it: {', '.join(needless)}"


def _by_file(verdicts: Iterable[Verdict]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.file, Counter())[verdict.outcome] += 1
    return found


def _summary(counts: Counter[str]) -> str:
    return (
        f"{counts['passed']} passed, {counts['failed']} failed,"
        f" {counts['listed']} listed differences"
    )


if __name__ == "__main__":
    sys.exit(main())
