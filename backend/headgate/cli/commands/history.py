"""`history` and `revert`: revisions of configured objects, and the rollback to one."""

from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.commands.simulate import show_simulation
from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.kinds import kind_of, placed
from headgate.cli.options import (
    DEFAULT_NAMESPACE,
    Limit,
    Namespace,
    Output,
    Reason,
    argument,
    client_of,
    option,
)
from headgate.cli.output import Format, show, show_value
from headgate.cli.units import age_of

Object = dict[str, Any]
KindName = Annotated[str, argument("KIND", "Kind, e.g. cq (default: all)")]
ObjectName = Annotated[str, argument("NAME", "Name (default: all)")]
OneKind = Annotated[str, argument("KIND[/NAME]", "Kind, e.g. cq; or KIND/NAME")]
OneName = Annotated[str, argument("NAME", "Name")]
Position = Annotated[
    int, option("POSITION", "Position of the revision (see history)", "--to", min=0)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Simulate scheduling impact; don't apply")]


def history(
    ctx: typer.Context,
    *,
    kind: KindName = "",
    name: ObjectName = "",
    namespace: Namespace = DEFAULT_NAMESPACE,
    limit: Limit = 20,
    output: Output = Format.TABLE,
) -> None:
    """Show configuration change history."""
    kind, name = kind_and_name(kind, name)
    query = {"limit": str(limit)}
    if kind:
        query["kind"] = kind_of(kind).name.lower()
    if name:
        query["stream"] = stream_of(kind, name, namespace)
    with client_of(ctx) as client:
        found = client.read("/v1/history", query)
    if name and not found["items"]:
        raise CommandFailed(f"no changes of {query['stream']}", code=ExitCode.NOT_FOUND)
    if show_value(found, output):
        return
    for revision in found["items"]:
        _show(revision)


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
    """Roll back an object to a revision.

    Example: `headgate revert cq gpu --to 1234 --reason "quota too small"`
    """
    kind, name = kind_and_name(kind, name)
    if not name:
        raise CommandFailed(
            "specify the object", remedy="KIND NAME, or KIND/NAME", code=ExitCode.USAGE
        )
    stream = stream_of(kind, name, namespace)
    asked = {"stream": stream, "position": to, "reason": reason}
    path = "/v1/history/revert"
    with client_of(ctx) as client:
        found = client.act(f"{path}?dryRun=Admission" if dry_run else path, asked)
    if dry_run:
        show_simulation(found, output)
    elif not show_value(found, output):
        show(f"{stream} rolled back to its revision of position {to}")


def erase(
    ctx: typer.Context,
    *,
    kind: Annotated[str, argument("KIND", "Kind, or KIND/NAME")] = "",
    name: OneName = "",
    digest: Annotated[str, option("DIGEST", "Only this digest (status.podTemplates)")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Also what present objects refer to")
    ] = False,
    namespace: Namespace = DEFAULT_NAMESPACE,
    reason: Reason = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip confirmation")] = False,
    output: Output = Format.TABLE,
) -> None:
    """Erase pod templates, or an object as written, from the server (admin).

    Events keep the digest. Example: `headgate erase workload/train-7 --reason "token in env"`
    """
    if bool(kind) == bool(digest):
        raise CommandFailed(
            "specify one: KIND NAME, KIND/NAME or --digest DIGEST", code=ExitCode.USAGE
        )
    kind, name = kind_and_name(kind, name)
    stream = stream_of(kind, name, namespace) if kind else ""
    wanted = f"what was written of {stream}" if stream else f"the content of digest {digest}"
    if not yes and not typer.confirm(f"Erase {wanted}? This cannot be undone.", err=True):
        raise typer.Exit(ExitCode.FAILURE)
    asked = {"stream": stream, "digest": digest, "reason": reason, "force": force}
    with client_of(ctx) as client:
        found = client.act("/v1/erasures", asked)
    if not show_value(found, output):
        for each in found["digests"]:
            show(f"digest/{each} erased")


def kind_and_name(kind: str, name: str) -> tuple[str, str]:
    """Returns kind and name of `KIND NAME` or `KIND/NAME`."""
    if name:
        return kind, name
    word, _, rest = kind.partition("/")
    return word, rest


def stream_of(kind: str, name: str, namespace: str) -> str:
    """Returns the stream of an object."""
    found = kind_of(kind)
    place, own = placed(name, namespace)
    word = found.name.lower()
    return f"{word}/{place}/{own}" if found.namespaced else f"{word}/{own}"


def _show(revision: Object) -> None:
    reason = f": {revision['reason']}" if revision.get("reason") else ""
    age = age_of(revision["at"])
    show(f"#{revision['position']} {revision['stream']} {age} ago by {revision['actor']}{reason}")
    for difference in revision["differences"]:
        before, after = difference.get("before"), difference.get("after")
        if difference["path"] == "/" and (before is None or after is None):
            show("  created" if before is None else "  deleted")
        else:
            show(f"  {difference['path']}: {_value_text(before)} -> {_value_text(after)}")


def _value_text(value: object) -> str:
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode()
    return "(none)" if value is None else str(value)
