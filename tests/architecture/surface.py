"""The surface that is promised stable; `python -m tests.architecture.surface` records what is new.

A name that is recorded and gone is a breach of the promise: the program records nothing then, and
`--accept NAME` takes one name out of the record.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import typer

import headgate.client
from headgate.api.app import routes_only
from headgate.api.openapi import document
from headgate.application.metrics_exposition import described_metrics
from headgate.cli.main import app
from headgate.event_log.codec import EVENT_CLASSES, name_of, schema_version_of
from headgate.messages.catalogue import TEXTS
from headgate.settings import Settings
from tests.architecture.sources import ROOT

RECORD = ROOT / "docs" / "stable_surface.json"
METHODS = ("get", "post", "put", "patch", "delete")

Surface = dict[str, list[str]]


def surface() -> Surface:
    """Every promised name of the code, by the kind of surface, sorted."""
    described = document(routes_only())
    found = {
        "api": _operations(described),
        "fields": _fields(described["components"]["schemas"]),
        "command line": _options(typer.main.get_command(app), "headgate"),
        "settings": (f"HEADGATE_{name.upper()}" for name in Settings.__struct_fields__),
        "metrics": _metrics(),
        "events": _events(),
        "codes": TEXTS,
        "client": headgate.client.__all__,
    }
    return {kind: sorted(set(names)) for kind, names in found.items()}


def missing(record: Mapping[str, list[str]], found: Mapping[str, list[str]]) -> list[str]:
    """What is recorded and not there any more."""
    return [
        f"{kind}: {name}"
        for kind, names in record.items()
        for name in sorted(set(names) - set(found.get(kind, ())))
    ]


def recorded() -> Surface:
    """The surface as it was recorded."""
    record: Surface = json.loads(RECORD.read_text())
    return record


def _operations(described: Mapping[str, Any]) -> Iterator[str]:
    common = described["components"]["parameters"]
    for path, methods in described["paths"].items():
        for method in METHODS:
            operation = methods.get(method)
            if operation is None:
                continue
            yield f"{method.upper()} {path}"
            for given in operation.get("parameters", ()):
                name = given.get("$ref", "").rpartition("/")[2]
                parameter = common[name] if name else given
                yield f"{method.upper()} {path} {parameter['in']} {parameter['name']}"


def _fields(schemas: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in schemas.items():
        yield from (f"{name}.{field}" for field in schema.get("properties", ()))


def _options(command: Any, name: str) -> Iterator[str]:
    yield name
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield f"{name} <{parameter.name}>"
        else:
            yield from (f"{name} {option}" for option in parameter.opts)
            yield from (f"{name} {option}" for option in parameter.secondary_opts)
    if hasattr(command, "list_commands"):
        context = command.make_context(name, [], resilient_parsing=True)
        for each in command.list_commands(context):
            yield from _options(command.get_command(context, each), f"{name} {each}")


def _metrics() -> Iterator[str]:
    for metric in described_metrics():
        yield metric.name
        yield from (f"{metric.name} label {label}" for label in metric.labels)


def _events() -> Iterator[str]:
    for event in EVENT_CLASSES:
        name = name_of(event)
        yield from (f"{name} v{version}" for version in range(1, schema_version_of(name) + 1))
        yield from (f"{name}.{field.encode_name}" for field in msgspec.structs.fields(event))


def main(accepted: list[str]) -> int:
    """Exit code 1 if something is gone that was promised."""
    found = surface()
    record = recorded() if RECORD.is_file() else {}
    gone = [name for name in missing(record, found) if name not in accepted]
    for name in gone:
        sys.stdout.write(f"promised and gone: {name}\n")
    if not gone:
        RECORD.write_text(json.dumps(found, indent=0) + "\n")
    return int(bool(gone))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[2:] if sys.argv[1:2] == ["--accept"] else []))
