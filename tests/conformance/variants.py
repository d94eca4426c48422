"""Variants of the known cases, to show that the runner reads what it has not seen.

`python -m tests.conformance.variants` runs them all: a variant must come to the outcome of the case
it is made from. Exit code 1 if one does not.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.conformance.__main__ import FOLDER
from tests.conformance.cases import ZERO_VALUES, case_files, read_cases
from tests.conformance.verdicts import Verdict, judge

Document = dict[str, Any]
Change = Callable[[Document], None]
"""Makes another document of a file with cases, in place; its outcomes are to stay."""

ANY_ORDER = (
    *("clusterQueues", "additionalClusterQueues", "additionalLocalQueues", "localQueues", "queues"),
    *("cohorts", "resourceFlavors", "flavors", "topologies", "nodes", "pods", "admissionChecks"),
)
"""Inputs of which the order means nothing."""

QUOTAS = ("nominalQuota", "borrowingLimit", "lendingLimit", "total", "borrowed")
SCALED_AREAS = ("cache", "flavorassigner", "preemption", "scheduler", "tas", "topology")
"""Areas with cases that are the same with more CPU of everything."""

FACTOR = 3
CPU_OF_THE_BODY = (
    "TestAssignFlavorsWithAllowedFlavors",
    "MultiLayerReplacement",
    "TestSnapshotAddRemoveWorkload",
    "TestSnapshotAddRemoveWorkloadWithLendingLimit",
)
"""Tests with pods or quotas that their body makes, of so much CPU as it says."""

INSTANTS_OF_THE_BODY = ("TestSnapshotDeterministicOrder",)
"""Tests with instants that their body sets."""

PRIORITIES = ("priority", "value", "maxPriorityThreshold")
PRIORITY_IS_THE_OUTCOME = ("util_priority", "visibility_storage-TestNewPendingWorkloadPriority")
"""Tests that want a priority, as a number."""

NAMES_OF_THE_BODY = (
    *("TestDominantResourceShare", "TestIsBorrowingOn", "TestHeads", "TestDeletedFlavors"),
    *("TestHierarchical", "TestReclaimBeforePriorityPreemption"),
    *("TestReconcileSyncAdmissionChecks", "TestGetPriorityFromPriorityClass"),
)
"""Tests with objects that their body makes, looks up or deletes, by the names it says."""

FIELDS = frozenset(
    ("spec", "metadata", "status", "template", "kind", "object", "name", "globalDefault", "default")
)
"""Keys of objects, which are no names also where an object is called so."""

MAX_CPU = (2**63 - 1) // 1000
"""As amounts are counted in thousandths, in 64 bits."""

PREFIX = "r"
"""What every name gets: their order stays."""

BOOST = "kueue.x-k8s.io/priority-boost"
_INSTANT = re.compile(r"\b2026-01-(?=\d\dT)")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_WHOLE = re.compile(r'"(\d{13,})"')
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)(m|k|)")


def renamed(document: Document) -> None:
    """Cases of other names: nothing is known by its name."""
    for number, case in enumerate(_cases(document)):
        case["name"] = f"variant {number}"
        case.pop("instance", None)


def reordered(document: Document) -> None:
    """The same objects in another order, and the fields of every object as well."""
    for case in _cases(document):
        for name, value in case["inputs"].items():
            if name in ANY_ORDER and isinstance(value, list):
                value.reverse()
        case["inputs"] = _backwards(case["inputs"])


def sparse(document: Document) -> None:
    """Without the inputs that are Go zero values."""
    for case in _cases(document):
        case["inputs"] = {k: v for k, v in case["inputs"].items() if v not in ZERO_VALUES}


def explicit(document: Document) -> None:
    """With null for every input that another case of the file has."""
    names = {name for case in _cases(document) for name in case["inputs"]} - {"setup"}
    for case in _cases(document):
        case["inputs"] = {**dict.fromkeys(sorted(names)), **case["inputs"]}


def scaled(document: Document) -> None:
    """With so many times the CPU: of hosts, quota, usage and requests, given and wanted."""
    _scale(document.get("shared"))
    # What a transformation makes of CPU is an amount of something else.
    _scale(
        [
            case
            for case in document["cases"]
            if not case.get("inputs", {}).get("resourceTransformations") and not _is_at_limit(case)
        ]
    )


def _is_at_limit(case: Document) -> bool:
    """Whether so many times an amount is more than any object may ask for."""
    return any(int(found) * FACTOR > MAX_CPU for found in _WHOLE.findall(json.dumps(case)))


def postponed(document: Document) -> None:
    """All instants of January two months later, with all distances as they are."""
    document.update(json.loads(_INSTANT.sub("2026-03-", json.dumps(document))))


def prioritized(document: Document) -> None:
    """Twice every priority, so that their order stays; boosts are amounts of their own."""
    if BOOST not in json.dumps(document):
        document.update(_doubled(document))


def _doubled(value: Any) -> Any:
    if isinstance(value, list):
        return [_doubled(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: each * 2 if name in PRIORITIES and type(each) is int else _doubled(each)
        for name, each in value.items()
    }


def other_names(document: Document) -> None:
    """Other names for all objects, wherever they are mentioned; names of pod sets stay."""
    names = _names(document)
    for part in (document, *document["cases"]):
        for field in ("shared", "inputs", "want", "derived", "checked", "params"):
            if isinstance(part.get(field), dict):
                part[field] = {key: _under(found, names) for key, found in part[field].items()}


def _names(document: Document) -> frozenset[str]:
    """The names of the objects of a file that mean nothing else in it, those of lost hosts too."""
    found: set[str] = set()
    meant = set(FIELDS) | {"", "main", "cpu", "memory"}
    for each in _mappings([document.get("shared"), *document["cases"]]):
        metadata = each.get("metadata")
        if isinstance(metadata, dict):
            found.add(metadata.get("name", ""))
            meant.add(metadata.get("namespace", ""))
        for field in ("podSets", "podSetAssignments"):
            meant.update(pods["name"] for pods in each.get(field) or () if "name" in pods)
        for field in ("requests", "limits", "coveredResources"):
            meant.update(name for name in each.get(field) or () if isinstance(name, str))
    for each in _mappings(document["cases"]):
        hosts = _hosts_of(each)
        found.update(hosts if found & set(hosts) else ())
    return frozenset(found - meant)


def _hosts_of(values: Document) -> list[str]:
    """The hosts that an assignment encodes as what they share and what they do not."""
    roots = values.get("roots")
    start, end = values.get("prefix", ""), values.get("suffix", "")
    return [f"{start}{root}{end}" for root in roots] if isinstance(roots, list) else []


def _mappings(value: Any) -> Iterator[Document]:
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _mappings(each)


def _under(value: Any, names: frozenset[str]) -> Any:
    """The same with the names of objects replaced, also those of hosts that share a prefix."""
    if isinstance(value, str):
        return _NAME.sub(lambda at: PREFIX * _is_name(at, names) + at[0], value)
    if isinstance(value, list):
        return [_under(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    hosts = _hosts_of(value)
    if hosts:
        is_named = names.issuperset(hosts)
        return {**value, "prefix": PREFIX * is_named + value.get("prefix", "")}
    return {
        key if key in FIELDS else _under(key, names): _under(each, names)
        for key, each in value.items()
    }


def _is_name(at: re.Match[str], names: frozenset[str]) -> bool:
    """Whether a word names an object; in a sentence one of letters alone does so in a path only."""
    is_word = " " in at.string and at[0].isalpha() and at.string[at.start() - 1] != "/"
    return at[0] in names and not is_word


def together(document: Document) -> None:
    """All of that at once, but for the amounts."""
    for change in (renamed, reordered, explicit):
        change(document)


CHANGES: Mapping[str, Change] = {
    change.__name__: change
    for change in (
        *(renamed, reordered, sparse, explicit, scaled, postponed, prioritized, other_names),
    )
}


def differing(change: Change, path: Path, folder: Path, every: int = 1) -> Iterator[str]:
    """What comes of each variant of the cases of a file (one in `every`) where it should not."""
    if not _applies(change, path):
        return
    if path.suffix == ".jsonl":
        lines = path.read_text(encoding="utf-8").splitlines()[::every]
        documents = [json.loads(line) for line in lines]
        document: Document = {"cases": documents}
        before = _written(folder / f"before-{path.name}", "\n".join(lines))
        if change is scaled:
            _scale(document)
        after = "\n".join(json.dumps(_backwards(one)) for one in documents)
    else:
        document = json.loads(path.read_text(encoding="utf-8"))
        document["cases"] = document["cases"][::every]
        before = _written(folder / f"before-{path.name}", json.dumps(document))
        changed = deepcopy(document)
        change(changed)
        after = json.dumps(changed)
    known = [judge(case) for case in read_cases(before)]
    found = [judge(case) for case in read_cases(_written(folder / path.name, after))]
    for was, now in zip(known, found, strict=True):
        if was.outcome != now.outcome:
            yield f"{path.name} {was.name}: {was.outcome}, and {_told(now)}"


def _applies(change: Change, path: Path) -> bool:
    if change is scaled:
        return _can_be_scaled(path)
    if change is postponed:
        return not path.stem.endswith(INSTANTS_OF_THE_BODY)
    if change is other_names:
        return path.suffix != ".jsonl" and not path.stem.endswith(NAMES_OF_THE_BODY)
    return change is not prioritized or not path.stem.startswith(PRIORITY_IS_THE_OUTCOME)


def _can_be_scaled(path: Path) -> bool:
    is_of_area = path.stem.partition("-")[0] in SCALED_AREAS
    return is_of_area and not path.stem.endswith(CPU_OF_THE_BODY)


def main() -> int:
    """Exit code 1 if a variant comes to another outcome than its case."""
    files = case_files(FOLDER) if FOLDER.is_dir() else []
    if not files:
        sys.stdout.write(f"Skipped: the conformance corpus {FOLDER} is absent.\n")
        return 0
    wrong: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        for name, change in CHANGES.items():
            for path in files:
                for told in differing(change, path, Path(folder)):
                    wrong[name] += 1
                    sys.stdout.write(f"{name}: {told}\n")
    for name in CHANGES:
        sys.stdout.write(f"{name}: {wrong[name]} differ\n")
    return 1 if wrong else 0


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _told(verdict: Verdict) -> str:
    return " ".join((verdict.outcome, *verdict.reasons[:2]))


def _cases(document: Document) -> list[Document]:
    return [case for case in document["cases"] if "inputs" in case]


def _backwards(value: Any) -> Any:
    """The same with the fields of all objects in reverse."""
    if isinstance(value, dict):
        return {name: _backwards(value[name]) for name in reversed(value)}
    return [_backwards(each) for each in value] if isinstance(value, list) else value


def _scale(value: Any) -> None:
    if isinstance(value, list):
        for each in value:
            _scale(each)
    elif isinstance(value, dict):
        fields = QUOTAS if value.get("name") == "cpu" else ()
        for name, found in value.items():
            if name in ("cpu", "cpuCapacity") or name in fields:
                value[name] = _times(found)
            _scale(value[name])


def _times(amount: Any) -> Any:
    if isinstance(amount, bool) or not isinstance(amount, str | int):
        return amount
    if isinstance(amount, int):
        return amount * FACTOR
    found = _QUANTITY.fullmatch(amount)
    if found is None:
        return amount
    return f"{float(found[1]) * FACTOR:.12g}{found[2]}"


if __name__ == "__main__":
    sys.exit(main())
