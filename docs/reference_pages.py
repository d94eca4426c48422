"""Writes the reference pages of the documentation from the code that they describe.

Each function returns one page as Markdown. Sphinx writes all pages before it reads its sources
(`conf.py`), so that none can differ from the code.
"""

import inspect
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import msgspec
import typer
from msgspec.inspect import DictType, Metadata, StructType, type_info

from headgate.application.metrics_exposition import described_metrics
from headgate.cli.main import app
from headgate.domain.kinds.registry import KINDS
from headgate.domain.values.message import BudgetKey, WorkloadKey, WorkloadUid
from headgate.event_log.codec import EVENT_CLASSES, name_of, schema_version_of
from headgate.messages.catalogue import TEXTS
from headgate.settings import Settings

Schema = dict[str, Any]

EVENT_FIELDS = Path(__file__).resolve().parent / "event_fields.toml"
"""What each field of an event means, by its stored name."""
DESCRIPTION = Path(__file__).resolve().parent.parent / "frontend" / "openapi.json"
METHODS = ("get", "post", "put", "patch", "delete")
WITHOUT_A_PAGE = ("apiVersion", "kind", "metadata")
"""Fields of an object that are alike for all kinds."""


def write_pages(folder: Path) -> None:
    """Write every page into `folder`; a page that would not change keeps its modification time."""
    folder.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        path, text = folder / f"{name}.md", page()
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def index_page() -> str:
    """The table of contents of the reference."""
    listed = "\n".join(name for name in PAGES if name != "index")
    return f"# Reference\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"


def kinds_page() -> str:
    """Every kind an administrator configures, and Workload, with the fields of spec and status."""
    schemas = _description()["components"]["schemas"]
    told = (
        "Objects are written as `apiVersion`, `kind`, `metadata` and `spec`; `status` is written by"
        " Headgate. A type that begins with a capital has its own table below its kind."
    )
    meanings = _docstrings(kind.spec for kind in KINDS)
    parts = ["# Kinds and fields\n", f"{told}\n"]
    for name in (*(kind.name for kind in KINDS), "Workload"):
        parts += [f"## {name}\n", *_object_tables(schemas, meanings, name)]
    return "\n".join(parts)


def _docstrings(specs: Iterable[type[msgspec.Struct]]) -> dict[str, str]:
    """What each class says that a spec is made of, by the name of the class."""
    found: dict[str, str] = {}
    pending = [type_info(spec) for spec in specs]
    while pending:
        known = pending.pop()
        if isinstance(known, StructType):
            if known.cls.__name__ not in found:
                found[known.cls.__name__] = inspect.getdoc(known.cls) or ""
                pending += [field.type for field in known.fields]
            continue
        pending += [inner for inner in (getattr(known, "item_type", None),) if inner is not None]
        pending += [*getattr(known, "types", ()), *getattr(known, "item_types", ())]
        pending += [known.value_type] if isinstance(known, DictType) else []
    return found


def _object_tables(
    schemas: Mapping[str, Schema], meanings: Mapping[str, str], kind: str
) -> Iterator[str]:
    own = schemas[f"{kind}Object"]["properties"]
    told = {field for field in own if field not in WITHOUT_A_PAGE}
    pending = [ref for field in own if field in told for ref in _references(own[field])]
    seen: set[str] = set()
    while pending:
        ref = pending.pop(0)
        if ref in seen:
            continue
        seen.add(ref)
        schema = schemas[ref]
        yield f"### {ref}\n" if ref.startswith(kind) else f"**{ref}**\n"
        yield from _paragraph(schema.get("description") or meanings.get(ref, ""))
        yield _fields_table(schema)
        for field in schema.get("properties", {}).values():
            pending += _references(field)


def _references(schema: Schema) -> list[str]:
    found = []
    if "$ref" in schema:
        found.append(schema["$ref"].rpartition("/")[2])
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            found += _references(schema[key])
    for alternative in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        found += _references(alternative)
    return found


def _fields_table(schema: Schema) -> str:
    required = set(schema.get("required", ()))
    rows = [
        (
            f"`{name}`",
            _type_of(field),
            "required" if name in required else _default(field),
            field.get("description", ""),
        )
        for name, field in schema.get("properties", {}).items()
    ]
    return _table(("field", "type", "default", "meaning"), rows)


def _default(field: Schema) -> str:
    return f"`{json.dumps(field['default'])}`" if "default" in field else ""


def _type_of(field: Schema) -> str:
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    alternatives = [one for one in field.get("oneOf", ()) if one.get("type") != "null"]
    if alternatives:
        return " or ".join(_type_of(one) for one in alternatives)
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if field.get("type") == "array":
        return f"list of {_type_of(field.get('items', {}))}"
    values = field.get("additionalProperties")
    if isinstance(values, dict):
        return f"map to {_type_of(values)}"
    return str(field.get("format") or field.get("type") or "any JSON value")


def api_page() -> str:
    """Every path and method of the API with its parameters and what it answers."""
    described = _description()
    parts = ["# API\n", API_INTRODUCTION]
    by_tag: dict[str, list[str]] = {}
    for path, methods in described["paths"].items():
        for method in METHODS:
            if method in methods:
                operation = methods[method]
                section = operation.get("tags", ["Others"])[0]
                by_tag.setdefault(section, []).append(
                    _operation(path, method, operation, described)
                )
    for tag in sorted(by_tag):
        parts += [f"## {tag}\n", *by_tag[tag]]
    return "\n".join(parts)


API_INTRODUCTION = """\
The API describes itself at `/docs`, and as OpenAPI at `/v1/openapi.json`.

**Authentication.** Every request under `/v1` carries a token: `Authorization: Bearer TOKEN`.
`headgate token create` makes one; [Users, roles and service accounts](../operations/access.md) says
what it may do. Each operation below has an example for curl and one for the
[Python client](../client.md), with these to begin with:

```console
export HEADGATE_URL=https://headgate.example.com HEADGATE_TOKEN=...
```

```python
from headgate.client import Headgate

client = Headgate().client
```

**Positions.** Every answer has the header `X-Log-Position`. A read with `minPosition` waits until
the server has seen that position, and one with `at` answers as of a position or a time. Lists come
page by page, with `limit` and `continue`.

**Writes.** A POST with an `Idempotency-Key` may be repeated; a changed configuration needs
`If-Match` with the ETag that was read. Refusals are problem documents (RFC 9457) with a code,
pointers to fields and the remedy.
"""

EXAMPLE_VALUES = {"namespace": "team-a", "name": "train"}


def _examples(path: str, method: str, operation: Schema) -> Iterator[str]:
    """A call of an operation by curl and by the Python client."""
    filled = path
    for parameter in re.findall(r"{(\w+)}", path):
        filled = filled.replace(f"{{{parameter}}}", EXAMPLE_VALUES.get(parameter, parameter))
    words = ['curl -H "Authorization: Bearer $HEADGATE_TOKEN"']
    types = list(operation.get("requestBody", {}).get("content", {}))
    if method != "get":
        words.append(f"-X {method.upper()}")
    if types:
        words.append(f'-H "Content-Type: {types[0]}" --data-binary @body')
    answers = operation.get("responses", {}).values()
    if any("text/event-stream" in each.get("content", {}) for each in answers):
        words.append("-N")
    yield f'```console\n{" ".join(words)} "$HEADGATE_URL{filled}"\n```\n'
    call = {
        "get": f'client.read("{filled}")',
        "post": f'client.act("{filled}"{", body" if types else ""})',
        "put": f'client.replace("{filled}", body)',
        "delete": f'client.remove("{filled}")',
    }.get(method)
    if call is not None:
        yield f"```python\n{call}\n```\n"


def _operation(path: str, method: str, operation: Schema, described: Schema) -> str:
    parts = [f"### {method.upper()} {path}\n", f"{operation.get('summary', '')}\n"]
    parts += _paragraph(operation.get("description", ""))
    parts += _examples(path, method, operation)
    rows = [
        (
            f"`{parameter['name']}`",
            parameter["in"],
            _type_of(parameter["schema"]),
            parameter.get("description", ""),
        )
        for parameter in _resolved(operation.get("parameters", ()), described)
    ]
    if rows:
        parts.append(_table(("parameter", "in", "type", "meaning"), rows))
    answers = [
        (f"`{status}`", found.get("description", ""))
        for status, answer in operation.get("responses", {}).items()
        for found in _resolved((answer,), described)
    ]
    parts.append(_table(("status", "answer"), answers))
    return "\n".join(parts)


def _resolved(listed: Iterable[Schema], described: Schema) -> Iterator[Schema]:
    """The schemas, each reference replaced by what it leads to."""
    for schema in listed:
        path = schema["$ref"].split("/")[1:] if "$ref" in schema else ()
        yield reduce(getitem, path, described) if path else schema


def command_line_page() -> str:
    """Every command of `headgate` with its arguments and options."""
    root = typer.main.get_command(app)
    return "\n".join(["# Command line\n", *_command(root, "headgate", 2)])


def _command(command: Any, name: str, depth: int) -> Iterator[str]:  # noqa: ANN401 - Typer's own
    context = command.make_context(name, [], resilient_parsing=True)
    yield f"{'#' * min(depth, 4)} {name}\n"
    yield from _paragraph(inspect.cleandoc(command.help or ""))
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    rows = [
        (f"`{record[0]}`", record[1])
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) is not None
    ]
    if rows:
        yield _table(("argument or option", "meaning"), rows)
    for each in command.list_commands(context) if hasattr(command, "list_commands") else ():
        found = command.get_command(context, each)
        if not found.hidden:
            yield from _command(found, f"{name} {each}", depth + 1)


def settings_page() -> str:
    """Every environment variable that Headgate reads, with its default."""
    rows = [
        (
            f"`HEADGATE_{field.name.upper()}`",
            f"`{field.default}`" if str(field.default) else "",
            _meaning(field.type),
        )
        for field in msgspec.structs.fields(Settings)
    ]
    table = _table(("variable", "default", "meaning"), rows)
    return f"# Settings\n\nProcesses read these environment variables.\n\n{table}"


def _meaning(annotation: Any) -> str:  # noqa: ANN401 - any annotation
    known = type_info(annotation)
    described = known.extra_json_schema if isinstance(known, Metadata) else None
    return str((described or {}).get("description", ""))


def metrics_page() -> str:
    """Every metric that `/metrics` gives, with its type, labels and meaning."""
    rows = [
        (f"`{found.name}`", found.type, ", ".join(found.labels), found.meaning)
        for found in sorted(described_metrics())
    ]
    told = "The API serves these at `/metrics`. A counter counts since its process began."
    table = _table(("metric", "type", "labels", "meaning"), rows)
    return f"# Metrics\n\n{told}\n\n{table}"


def events_page() -> str:
    """Every stored event by name, with its schema version, meaning and fields."""
    meanings = tomllib.loads(EVENT_FIELDS.read_text())
    parts = ["# Events\n", "Stored names are never reused, and old versions stay readable.\n"]
    for event in sorted(EVENT_CLASSES, key=name_of):
        name = name_of(event)
        parts.append(f"## {name}\n")
        parts.append(f"Schema version {schema_version_of(name)}. {inspect.getdoc(event) or ''}\n")
        rows = [
            (
                f"`{field.encode_name}`",
                f"`{_annotation(field.type)}`",
                meanings.get(field.encode_name, ""),
            )
            for field in msgspec.structs.fields(event)
        ]
        if rows:
            parts.append(_table(("field", "type", "meaning"), rows))
    return "\n".join(parts)


REFERENCES = {"WorkloadKey": WorkloadKey, "BudgetKey": BudgetKey, "WorkloadUid": WorkloadUid}
"""Types of texts that redaction reads, by the names that the page shows."""


def _annotation(annotation: Any) -> str:  # noqa: ANN401 - any annotation
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    if getattr(annotation, "__args__", None):
        text = str(annotation)
    for name, alias in REFERENCES.items():
        text = text.replace(str(alias), name)
    for module in ("typing.", "collections.abc."):
        text = text.replace(module, "")
    words = text.replace("headgate.", "\0").split("\0")
    return words[0] + "".join(_without_module(word) for word in words[1:])


def _without_module(word: str) -> str:
    """A dotted name at the beginning of a text, without its modules."""
    end = next((i for i, c in enumerate(word) if not (c.isalnum() or c in "._")), len(word))
    return word[:end].rpartition(".")[2] + word[end:]


def messages_page() -> str:
    """Every code of a reason, rejection or finding, with the templates of its text and remedy."""
    rows = [(f"`{code}`", text.text, text.remedy) for code, text in sorted(TEXTS.items())]
    return (
        "# Reasons and messages\n\n"
        "The event log and the API give codes with arguments; these are their texts. Arguments are"
        " in braces, and a part in square brackets is left out where its argument is absent.\n\n"
        + _table(("code", "text", "remedy"), rows)
    )


def _description() -> Schema:
    described: Schema = json.loads(DESCRIPTION.read_text())
    return described


def _paragraph(text: str) -> Iterator[str]:
    if text:
        yield f"{text}\n"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(_cell(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    """Text of a table's cell; outside of code spans it must not open an HTML element."""
    one_line = " ".join(text.split()).replace("|", "\\|")
    return one_line if one_line.startswith("`") else one_line.replace("<", "&lt;")


PAGES: dict[str, Callable[[], str]] = {
    "index": index_page,
    "kinds": kinds_page,
    "api": api_page,
    "command-line": command_line_page,
    "settings": settings_page,
    "metrics": metrics_page,
    "events": events_page,
    "messages": messages_page,
}
"""The pages by the names of their files."""
