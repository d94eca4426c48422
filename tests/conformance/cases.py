"""Cases as they stand in files: references resolved, fixtures put together, nothing judged."""

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from _collections_abc import dict_items

PLACEMENTS = "placements"
"""The test that the lines of a file of placements belong to; they name none."""

ON = {"TASProfileMixed": True}
"""Gates that lines of placements name and that are on by default."""

ZERO_VALUES: tuple[Any, ...] = (None, "", 0, [], {})
"""What says as little as an absent field (False is 0)."""

CASE_KEYS = {
    *("name", "instance", "split", "line", "comments", "flags", "params"),
    *("featureGates", "nonDefaultGates", "variants", "inputs", "want", "derived", "checked"),
}
LINE_KEYS = {"case", "expect"}


class UnknownKey(Exception):
    """A key that the format does not have: nothing is passed over."""


class Fields(dict[str, Any]):
    """The fields of a case, which remember that they were read: the unread ones were missed."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """A field; `default` where it is absent."""
        self.read.add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.read.add(str(name))
        return super().__contains__(name)

    def items(self) -> "dict_items[str, Any]":
        """All fields, which are all read thereby."""
        self.read.update(self)
        return super().items()

    def peek(self, name: str) -> Any:
        """A field, without it being read."""
        return super().get(name)


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case; `test` is the folder and the name of Kueue's test, `kind` the class of its file.

    `unknown` are keys beside its fields that the format does not have.
    """

    file: Path
    test: str
    name: str
    kind: str
    inputs: Fields
    want: Fields
    shared: Fields = msgspec.field(default_factory=lambda: Fields({}))
    derived: Fields = msgspec.field(default_factory=lambda: Fields({}))
    checked: Fields = msgspec.field(default_factory=lambda: Fields({}))
    gates: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The part of Kueue it is about, as file names begin with it."""
        return self.file.stem.partition("-")[0]

    def setup(self) -> list[dict[str, Any]]:
        """The objects that the body of the test made, those of all cases first."""
        return [*(self.shared.get("setup") or []), *(self.inputs.get("setup") or [])]

    def given(self, name: str) -> Any:
        """An input; None where it is absent, which in Go is its zero value."""
        return self.inputs.get(name)

    def listed(self, name: str) -> list[Any]:
        """An input that is a list, or a map of which the values matter; empty where absent."""
        found = self.inputs.get(name) or []
        return list(found.values()) if isinstance(found, dict) else list(found)

    def mapped(self, name: str) -> dict[str, Any]:
        """An input that is a map or a struct; empty where it is absent."""
        return self.inputs.get(name) or {}

    def number(self, name: str) -> int:
        """An input that is a number; 0 where it is absent."""
        return self.inputs.get(name) or 0

    def text(self, name: str) -> str:
        """An input that is a text; empty where it is absent."""
        return self.inputs.get(name) or ""

    def unread(self) -> list[str]:
        """What the case gives or wants and was never asked for: it is not judged by that."""
        parts = {"inputs": self.inputs, "want": self.want, "shared": self.shared}
        parts |= {"derived": self.derived, "checked": self.checked}
        return [
            f"{part}.{name}"
            for part, fields in parts.items()
            for name in fields
            if name not in fields.read and fields.peek(name) not in ZERO_VALUES
        ]


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
    name = f"{path.stem}:{number}"
    case = read["case"]
    gates = {gate: on for gate, on in case.get("gates", {}).items() if on != ON.get(gate, False)}
    name = f"{name} {case.get('kind', '')}".strip()
    return Case(
        file=path,
        test=PLACEMENTS,
        name=name,
        kind="A",
        inputs=Fields(case),
        want=Fields(read["expect"]),
        unknown=tuple(sorted(read.keys() - LINE_KEYS)),
        gates=tuple(f"{gate}={str(on).lower()}" for gate, on in sorted(gates.items())),
    )


def _case(path: Path, document: dict[str, Any], case: dict[str, Any]) -> Case:
    shared = document.get("shared") or {}
    inputs = {name: _resolved(value, shared) for name, value in (case.get("inputs") or {}).items()}
    inputs.update({"params": case["params"]} if case.get("params") else {})
    for value in (inputs, shared):
        _complete(value)
    go_file, _, test = document["source"].partition(":")
    return Case(
        file=path,
        test=f"{go_file.rpartition('/')[0]}:{test}",
        name=f"{test}: {case.get('instance') or case['name']}",
        kind=document.get("class", ""),
        inputs=Fields(inputs),
        want=Fields(_with_specs(case.get("want") or {}, inputs)),
        shared=Fields({k: v for k, v in shared.items() if k not in {"defs", "variants"}}),
        derived=Fields(case.get("derived") or {}),
        checked=Fields(case.get("checked") or {}),
        gates=tuple(case.get("nonDefaultGates") or ()),
        unknown=tuple(sorted(case.keys() - CASE_KEYS)),
    )


def refuse_unknown(name: str, value: Mapping[str, Any], known: AbstractSet[str]) -> None:
    """Raise `UnknownKey` for a key of a struct that nothing here reads."""
    unknown = sorted(value.keys() - known)
    if unknown:
        raise UnknownKey(f"{name} has keys of no meaning: {', '.join(unknown)}")


def _complete(value: Any) -> None:
    """Objects with a spec, which is left out where it is empty."""
    if isinstance(value, list):
        for found in value:
            _complete(found)
    elif isinstance(value, dict):
        if isinstance(value.get("metadata"), dict) and value.keys() <= {"metadata", "status"}:
            value["spec"] = {}
        for found in value.values():
            _complete(found)


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
