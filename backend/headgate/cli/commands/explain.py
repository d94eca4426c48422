"""`explain` and `man`: what fields of manifests mean, and the manual pages of the commands."""

import shutil
import subprocess
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.sessions import is_terminal
from headgate.cli.failures import EXIT_CODES, CommandFailed, ExitCode
from headgate.cli.kinds import kind_of
from headgate.cli.options import argument, client_of, option
from headgate.cli.output import say, show
from headgate.messages.rendering import nearest

Object = dict[str, Any]
WIDTH = 80
PROGRAM = "headgate"
DOCUMENT = "/v1/openapi.json"
FieldPath = Annotated[
    str, argument("KIND[.FIELD...]", "Kind and field, e.g. cq.spec.resourceGroups")
]
Recursive = Annotated[bool, typer.Option("--recursive", help="All fields below, names only")]
CommandWords = Annotated[list[str] | None, argument("COMMAND", "Command, e.g. get or token create")]
PagesIn = Annotated[
    Path | None, option("DIRECTORY", "Write all pages, e.g. to ~/.local/share/man/man1")
]


def explain(ctx: typer.Context, *, path: FieldPath, recursive: Recursive = False) -> None:
    """Explain a kind or a field of its manifests.

    The server's API has the texts: `headgate explain cq.spec.preemption`
    """
    word, *steps = path.rstrip(".").split(".")
    kind = kind_of(word)
    with client_of(ctx) as client:
        schemas: dict[str, Object] = client.read(DOCUMENT)["components"]["schemas"]
    found = Field(schema=schemas[f"{kind.name}Object"], schemas=schemas)
    for step in steps:
        found = found.below(step)
    lines = [f"KIND:     {kind.name}"]
    if steps:
        lines.append(f"FIELD:    {steps[-1]} <{found.type_name}>")
    if found.description:
        lines += ["", "DESCRIPTION:", _indented(found.description)]
    lines += [f"    {words}" for words in found.limits]
    if found.fields:
        lines += ["", "FIELDS:", *(_tree(found, "  ") if recursive else _listed(found))]
    show("\n".join(lines))


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the API's schemas."""

    schema: Object
    schemas: dict[str, Object]

    @property
    def target(self) -> Object:
        """Returns the schema that references, lists, maps and absent values lead to."""
        schema = self.schema
        while True:
            inner = _inner(schema, self.schemas)
            if inner is None:
                return schema
            schema = inner

    @property
    def description(self) -> str:
        """Returns the text of the field, or else of its type."""
        return str(self.schema.get("description") or self.target.get("description") or "")

    @property
    def fields(self) -> dict[str, Object]:
        """Returns the schemas of the fields below, in order; empty for a value."""
        found: dict[str, Object] = self.target.get("properties", {})
        return found

    @property
    def type_name(self) -> str:
        """Returns the type as kubectl writes it: `[]ResourceGroup`, `map[string]string`."""
        return _type_name(self.schema, self.schemas)

    @property
    def limits(self) -> list[str]:
        """Returns the allowed values and the default."""
        schema = {**self.target, **self.schema}
        values = ", ".join(str(each) for each in schema.get("enum", []) if each is not None)
        default = schema.get("default")
        told = default if isinstance(default, str) else msgspec.json.encode(default).decode()
        return [
            *([f"One of: {values}"] if values else []),
            *([f"Default: {told}"] if default not in (None, [], {}, "") else []),
        ]

    def below(self, name: str) -> "Field":
        """Returns the field of a name; raises `CommandFailed` for an unknown one."""
        if name not in self.fields:
            near = nearest(name, list(self.fields))
            known = ", ".join(self.fields) or "none"
            raise CommandFailed(
                f"there is no field {name}",
                remedy=f"Did you mean {near}?" if near else f"Fields: {known}",
                code=ExitCode.NOT_FOUND,
            )
        return Field(schema=self.fields[name], schemas=self.schemas)


def _inner(schema: Object, schemas: dict[str, Object]) -> Object | None:
    """The schema one step nearer to the fields; None where it has them or is a value."""
    if "$ref" in schema:
        return schemas[schema["$ref"].rpartition("/")[2]]
    for word in ("oneOf", "anyOf"):
        options = [each for each in schema.get(word, []) if each.get("type") != "null"]
        if len(options) == 1:
            return dict(options[0])
    if isinstance(schema.get("items"), dict):
        return dict(schema["items"])
    more = schema.get("additionalProperties")
    return dict(more) if isinstance(more, dict) and "properties" not in schema else None


def _type_name(schema: Object, schemas: dict[str, Object]) -> str:
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        target = schemas[name]
        return name if "properties" in target else _type_name(target, schemas)
    inner = _inner(schema, schemas)
    if inner is None:
        options = schema.get("anyOf") or schema.get("oneOf") or []
        names = dict.fromkeys(_type_name(each, schemas) for each in options)
        types = schema.get("type", "Object")
        told = [types] if isinstance(types, str) else [each for each in types if each != "null"]
        return " or ".join(names or told)
    if isinstance(schema.get("items"), dict):
        return f"[]{_type_name(inner, schemas)}"
    is_map = isinstance(schema.get("additionalProperties"), dict)
    return f"map[string]{_type_name(inner, schemas)}" if is_map else _type_name(inner, schemas)


def _listed(found: Field) -> list[str]:
    required = found.target.get("required", [])
    lines: list[str] = []
    for name in found.fields:
        field = found.below(name)
        lines.append(f"  {name} <{field.type_name}>{' -required-' * (name in required)}")
        lines += [_indented(text) for text in (field.description, *field.limits) if text]
    return lines


def _tree(found: Field, indent: str, above: tuple[str, ...] = ()) -> list[str]:
    """The fields below with their types; a type that stands above itself is not repeated."""
    lines: list[str] = []
    for name in found.fields:
        field = found.below(name)
        lines.append(f"{indent}{name} <{field.type_name}>")
        if field.type_name not in above:
            lines += _tree(field, f"{indent}  ", (*above, field.type_name))
    return lines


def _indented(text: str) -> str:
    indent = " " * 4
    return fill(" ".join(text.split()), WIDTH, initial_indent=indent, subsequent_indent=indent)


def man(ctx: typer.Context, *, words: CommandWords = None, directory: PagesIn = None) -> None:
    """Show the manual page of a command, or write all pages.

    A terminal shows it by man; elsewhere it is source for roff: `headgate man get > get.1`
    """
    pages = _pages(ctx.find_root())
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        for name, page in pages.items():
            (directory / f"{name}.1").write_text(page)
        say(f"{len(pages)} pages written to {directory}")
        return
    name = "-".join((PROGRAM, *(words or ())))
    if name not in pages:
        raise CommandFailed(f"there is no command {' '.join(words or ())}", code=ExitCode.USAGE)
    viewer = shutil.which("man") if is_terminal() else None
    if viewer is None or not shown_by(viewer, pages[name]):
        show(pages[name])


def shown_by(viewer: str, page: str) -> bool:
    """Shows a page by a program that reads roff, such as man; returns whether it could."""
    return subprocess.run([viewer, "-l", "-"], input=page, text=True, check=False).returncode == 0


def _pages(root: Any) -> dict[str, str]:  # noqa: ANN401 - same
    """The pages of the program and of all commands, by name."""
    found: dict[str, str] = {}
    waiting: list[tuple[str, Any]] = [(PROGRAM, root)]
    while waiting:
        name, context = waiting.pop(0)
        below = getattr(context.command, "commands", {})
        children = [typer.Context(below[word], info_name=word, parent=context) for word in below]
        found[name.replace(" ", "-")] = _page(name, context, children)
        waiting += [(f"{name} {child.info_name}", child) for child in children]
    return found


def _page(name: str, context: Any, children: list[Any]) -> str:  # noqa: ANN401 - Typer's contexts
    summary, _, rest = str(context.command.help or "").partition("\n\n")
    usage = context.command.collect_usage_pieces(context)
    lines = [
        f'.TH "{name.upper().replace(" ", "-")}" "1" "" "Headgate" "Headgate"',
        ".SH NAME",
        f"{_roff(name.replace(' ', '-'))} \\- {_roff(' '.join(summary.split()))}",
        ".SH SYNOPSIS",
        f".B {_roff(name)}",
        _roff(" ".join(usage)),
    ]
    if rest.strip():
        lines += [".SH DESCRIPTION", _roff(" ".join(rest.split()))]
    records = [parameter.get_help_record(context) for parameter in context.command.params]
    lines += _section("OPTIONS", [record for record in records if record])
    told = [
        (f"{name} {each.info_name}", str(each.command.help or "").split("\n\n")[0])
        for each in children
    ]
    lines += _section("COMMANDS", told)
    return "\n".join([*lines, ".SH EXIT STATUS", _roff(EXIT_CODES)])


def _section(title: str, rows: list[tuple[str, str]]) -> list[str]:
    """A list of names in bold, each with its text."""
    lines = [f".SH {title}"] if rows else []
    for name, text in rows:
        lines += [".TP", f".B {_roff(name)}", _roff(" ".join(text.split()))]
    return lines


def _roff(text: str) -> str:
    """The text for roff: backslashes and hyphens stay, and no line begins with a command."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
