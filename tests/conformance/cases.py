"""Cases as they stand in files: references resolved, fixtures put together, nothing judged."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec

PLACEMENTS = "placements"
"""The test that the lines of a file of placements belong to; they name none."""

ON = {"TASProfileMixed": True}
"""Gates that lines of placements name and that are on by default."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case; `test` is the folder and the name of Kueue's test, `kind` the class of its file."""

    file: Path
    test: str
    name: str
    kind: str
    inputs: dict[str, Any]
    want: dict[str, Any]
    shared: dict[str, Any] = {}
    derived: dict[str, Any] = {}
    checked: dict[str, Any] = {}
    gates: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The part of Kueue it is about, as file names begin with it."""
        return self.file.stem.partition("-")[0]

    def setup(self) -> list[dict[str, Any]]:
        """The objects that the body of the test made, those of all cases first."""
        return [*(self.shared.get("setup") or []), *(self.inputs.get("setup") or [])]

    def given(self, name: str) -> Any:
        """An input; None where it is absent."""
        return self.inputs.get(name)


def read_cases(path: Path) -> list[Case]:
    """All cases of a file; lines of placements and documents with cases are told by their form."""
    if path.suffix == ".jsonl":
        with path.open(encoding="utf-8") as lines:
            return [_placement(path, number, line) for number, line in enumerate(lines, 1)]
    document = json.loads(path.read_text(encoding="utf-8"))
    return [_case(path, document, case) for case in document.get("cases", ())]


def case_files(folder: Path) -> list[Path]:
    """Every file with cases below a folder."""
    placements = sorted(folder.rglob("*.jsonl"))
    return [*sorted(p for p in folder.rglob("*.json") if _has_cases(p)), *placements]


def _has_cases(path: Path) -> bool:
    with path.open(encoding="utf-8") as file:
        return '"source"' in file.read(400)


def _placement(path: Path, number: int, line: str) -> Case:
    read = json.loads(line)
    case = read["case"]
    gates = {gate: on for gate, on in case.get("gates", {}).items() if on != ON.get(gate, False)}
    name = f"{path.stem}:{number} {case.get('kind', '')}".strip()
    return Case(
        file=path,
        test=PLACEMENTS,
        name=name,
        kind="A",
        inputs=case,
        want=read["expect"],
        gates=tuple(f"{gate}={str(on).lower()}" for gate, on in sorted(gates.items())),
    )


def _case(path: Path, document: dict[str, Any], case: dict[str, Any]) -> Case:
    shared = document.get("shared") or {}
    inputs = {name: _resolved(value, shared) for name, value in case["inputs"].items()}
    inputs.update({"params": case["params"]} if case.get("params") else {})
    go_file, _, test = document["source"].partition(":")
    return Case(
        file=path,
        test=f"{go_file.rpartition('/')[0]}:{test}",
        name=f"{test}: {case.get('instance') or case['name']}",
        kind=document.get("class", ""),
        inputs=inputs,
        want=_with_specs(case.get("want") or {}, inputs),
        shared={key: value for key, value in shared.items() if key not in {"defs", "variants"}},
        derived=case.get("derived") or {},
        checked=case.get("checked") or {},
        gates=tuple(case.get("nonDefaultGates") or ()),
    )


def _resolved(value: Any, shared: dict[str, Any]) -> Any:
    if isinstance(value, dict) and set(value) == {"$ref"}:
        return deepcopy(shared["defs"][value["$ref"]])
    return value


def _with_specs(want: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """The wants, with specs that are those of the input of the same name filled in."""
    specs = {_key(found): found["spec"] for found in _objects(inputs) if "spec" in found}
    filled = deepcopy(want)
    for found in _objects(filled):
        if found.get("spec") == "$asInput":
            found["spec"] = specs[_key(found)]
    return filled


def _objects(values: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for value in values.values():
        for found in value if isinstance(value, list) else [value]:
            if isinstance(found, dict) and isinstance(found.get("metadata"), dict):
                yield found


def _key(found: dict[str, Any]) -> tuple[str, str]:
    return found["metadata"].get("namespace", ""), found["metadata"].get("name", "")
