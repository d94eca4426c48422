"""`history` and `revert`: revisions of configured objects, and the return to one."""

from typing import Annotated, Any

import typer

from headgate.adapters.system.stopwatch import wall_clock
from headgate.cli.commands.simulate import tell
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import kind_of, placed
from headgate.cli.options import DEFAULT_NAMESPACE, Limit, Namespace, Output, Reason
from headgate.cli.presentation.output import Format, show, show_value
from headgate.cli.presentation.units import age_of
from headgate.cli.session import client_of

Object = dict[str, Any]
KindWord = Annotated[str, typer.Argument(help="A kind, such as cq; all kinds without one.")]
ObjectName = Annotated[str, typer.Argument(help="An object of the kind; all without one.")]
OneKind = Annotated[str, typer.Argument(help="Its kind, such as cq; or KIND/NAME.")]
OneName = Annotated[str, typer.Argument(help="Its name.")]
Position = Annotated[int, typer.Option("--to", min=0, help="Right after which log position.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would lead to.")]


def history(
    ctx: typer.Context,
    *,
    kind: KindWord = "",
    name: ObjectName = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    limit: Limit = 20,
    output: Output = Format.TABLE,
) -> None:
    """Show configuration change history: `history cq gpu`."""
    kind, name = named_apart(kind, name)
    query = {"limit": str(limit)}
    if kind:
        query["kind"] = kind_of(kind).name.lower()
    if name:
        query["stream"] = stream_of(kind, name, namespace)
    with client_of(ctx) as client:
        found = client.read("/v1/history", query)
    if show_value(found, output):
        return
    for revision in found["items"]:
        _tell(revision)


def revert(
    ctx: typer.Context,
    *,
    kind: OneKind,
    name: OneName = "",
    to: Position,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    dry_run: DryRun = False,
    output: Output = Format.TABLE,
) -> None:
    """Make an object what it was: `revert cq gpu --to 1234 --reason "too little"`."""
    kind, name = named_apart(kind, name)
    if not name:
        raise CommandFailed(
            "name the object", remedy="KIND NAME, or KIND/NAME", code=ExitCode.USAGE
        )
    stream = stream_of(kind, name, namespace)
    asked = {"stream": stream, "position": to, "reason": reason}
    path = "/v1/history/revert"
    with client_of(ctx) as client:
        found = client.act(f"{path}?dryRun=Admission" if dry_run else path, asked)
    if dry_run:
        tell(found, output)
    elif not show_value(found, output):
        show(f"{stream} is again as it was at position {to}")


def named_apart(kind: str, name: str) -> tuple[str, str]:
    """Kind and name of `KIND NAME` or `KIND/NAME`."""
    if name:
        return kind, name
    word, _, rest = kind.partition("/")
    return word, rest


def stream_of(kind: str, name: str, namespace: str) -> str:
    """The stream of an object, as the log names it."""
    found = kind_of(kind)
    place, own = placed(name, namespace)
    word = found.name.lower()
    return f"{word}/{place}/{own}" if found.namespaced else f"{word}/{own}"


def _tell(revision: Object) -> None:
    because = f": {revision['reason']}" if revision.get("reason") else ""
    age = age_of(revision["at"], wall_clock())
    show(f"#{revision['position']} {revision['stream']} {age} ago by {revision['actor']}{because}")
    for difference in revision["differences"]:
        before, after = difference.get("before"), difference.get("after")
        show(f"  {difference['path']}: {_written(before)} -> {_written(after)}")


def _written(value: object) -> str:
    return "(nothing)" if value is None else str(value)
