"""`token`, `serviceaccount`, `config`, `view`, `can-i`, `whoami`, `version`: users and servers."""

from collections.abc import Callable
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import msgspec
import typer

from headgate.cli.cells import NOT_THERE
from headgate.cli.commands.actions import with_expiry
from headgate.cli.commands.get import FIXED_COLUMNS, GROUPS, ROW_CELLS, part_of_view, row_query
from headgate.cli.failures import NOT_A_URL, CommandFailed, ExitCode, Failure
from headgate.cli.options import (
    ExpiresIn,
    Flags,
    NoHeaders,
    Output,
    argument,
    client_of,
    complete_contexts,
    connection_of,
    option,
)
from headgate.cli.output import Format, say, show, show_answer, show_value
from headgate.cli.units import age_of
from headgate.client.contexts import (
    CONFIGURATION_PATH,
    Context,
    Contexts,
    UnknownContext,
    read_contexts,
    write_contexts,
)
from headgate.client.transport import is_url

Role = Annotated[
    str,
    option("ROLE", "viewer, submitter, namespace-admin, queue-admin, executor or admin"),
]
Namespaces = Annotated[list[str], option("NAME", "Namespace (repeatable)", "--namespace", "-n")]
ClusterQueues = Annotated[
    list[str], option("NAME", "ClusterQueue of a queue-admin (repeatable)", "--cluster-queue")
]
ExecutorName = Annotated[str, option("NAME", "Executor of the role executor", "--executor")]
Groups = Annotated[list[str], option("NAME", "Group of the user (repeatable)", "--group")]
AccountName = Annotated[str, argument("NAME", "Service account")]
Grants = Annotated[
    list[str],
    option("ROLE[:SCOPE,…]", "Role with its namespaces, ClusterQueues or Executor", "--grant"),
]
SCOPE_FIELDS = {"queue-admin": "clusterQueues", "executor": "executor"}


def create_token(
    ctx: typer.Context,
    *,
    name: Annotated[str, argument("NAME", "Token name")],
    role: Role,
    namespace: Namespaces = [],  # noqa: B006 - Typer copies it
    cluster_queue: ClusterQueues = [],  # noqa: B006 - same
    executor: ExecutorName = "",
    group: Groups = [],  # noqa: B006 - same
    expires_in: ExpiresIn = "",
    output: Output = Format.TABLE,
) -> None:
    """Create a token (the secret is shown only once)."""
    scope = {"namespaces": namespace, "clusterQueues": cluster_queue, "executor": executor}
    given = {field: value for field, value in scope.items() if value}
    body = with_expiry({"name": name, "role": role, "groups": group, **given}, expires_in)
    with client_of(ctx) as client:
        created = client.act("/v1/tokens", body)
    _show_secret(created, output, f"Token {name} ({role})")


def list_tokens(
    ctx: typer.Context, output: Output = Format.TABLE, no_headers: NoHeaders = False
) -> None:
    """List tokens (without secrets)."""
    with client_of(ctx) as client:
        found = client.read("/v1/tokens")
    rows = [
        [each["name"], each.get("role") or f"serviceaccount/{each['serviceAccount']}",
         _scope_of(each) or "-", age_of(each.get("createdAt")), each.get("expiresAt") or "never"]
        for each in found["items"]
    ]  # fmt: skip
    headers = ("name", "role", "scope", "age", "expires")
    show_answer(found, headers, rows, output, no_headers=no_headers)


def create_account(
    ctx: typer.Context,
    *,
    name: AccountName,
    grant: Grants,
    group: Groups = [],  # noqa: B006 - Typer copies it
) -> None:
    """Create a service account.

    Example: `headgate serviceaccount create ci --grant submitter:team-a,team-b --grant viewer`
    """
    body = {"name": name, "grants": [_grant(each) for each in grant], "groups": group}
    with client_of(ctx) as client:
        client.act("/v1/serviceaccounts", body)
    show(f"serviceaccount/{name} created")


def grant_account(
    ctx: typer.Context,
    *,
    name: AccountName,
    grant: Grants,
    group: Groups = [],  # noqa: B006 - Typer copies it
) -> None:
    """Replace the roles of a service account."""
    body = {"grants": [_grant(each) for each in grant], "groups": group}
    with client_of(ctx) as client:
        client.replace(f"/v1/serviceaccounts/{name}", body)
    show(f"serviceaccount/{name} changed")


def list_accounts(
    ctx: typer.Context, output: Output = Format.TABLE, no_headers: NoHeaders = False
) -> None:
    """List service accounts with their roles."""
    with client_of(ctx) as client:
        found = client.read("/v1/serviceaccounts")
    rows = [
        [each["name"], " ".join(map(_grant_text, each["grants"])),
         ",".join(each.get("groups", [])) or "-", age_of(each.get("createdAt"))]
        for each in found["items"]
    ]  # fmt: skip
    show_answer(found, ("name", "grants", "groups", "age"), rows, output, no_headers=no_headers)


def create_account_token(
    ctx: typer.Context,
    *,
    name: AccountName,
    expires_in: ExpiresIn = "90d",
    output: Output = Format.TABLE,
) -> None:
    """Create a token of a service account (the secret is shown only once)."""
    with client_of(ctx) as client:
        created = client.act(f"/v1/serviceaccounts/{name}/tokens", with_expiry({}, expires_in))
    _show_secret(created, output, f"Token {created['name']}, expires {created['expiresAt']}")


def delete_account(ctx: typer.Context, names: Annotated[list[str], argument("NAME", "")]) -> None:
    """Delete service accounts and revoke their tokens."""
    with client_of(ctx) as client:
        for name in names:
            client.remove(f"/v1/serviceaccounts/{name}")
            show(f"serviceaccount/{name} deleted")


def can_i(
    ctx: typer.Context,
    *,
    verb: Annotated[str, argument("VERB", "get, create, hold, stop, drain, report, …")],
    resource: Annotated[str, argument("RESOURCE", "Kind, e.g. workload or cq")],
    namespace: Annotated[str, option("NAME", "Namespace", "--namespace", "-n")] = "",
    cluster_queue: Annotated[str, option("NAME", "ClusterQueue", "--cluster-queue")] = "",
    output: Output = Format.TABLE,
) -> None:
    """Tell whether you may do something, and which role allows it.

    Exits with 1 if not. Example: `headgate can-i create workload -n team-a`
    """
    asked = {
        "verb": verb,
        "resource": resource,
        "namespace": namespace,
        "clusterQueue": cluster_queue,
    }
    with client_of(ctx) as client:
        found = client.read("/v1/can-i", {name: text for name, text in asked.items() if text})
    if not show_value(found, output):
        show("yes" if found["allowed"] else "no")
        say(found["reason"])
        if not found["allowed"]:
            say(f"Roles that may {found['verb']} {found['resource']}: {', '.join(found['roles'])}")
    if not found["allowed"]:
        raise typer.Exit(ExitCode.FAILURE)


def _show_secret(created: dict[str, Any], output: Format, told: str) -> None:
    if not show_value(created, output):
        say(f"{told}. The secret is shown only once:")
        show(created["secret"])


def _grant(text: str) -> dict[str, Any]:
    """The grant of `role` or `role:scope,scope`."""
    role, _, scope = text.partition(":")
    names = [name for name in scope.split(",") if name]
    if not names:
        return {"role": role}
    field = SCOPE_FIELDS.get(role, "namespaces")
    return {"role": role, field: names[0] if field == "executor" else names}


def _grant_text(grant: dict[str, Any]) -> str:
    scope = _scope_of(grant)
    return f"{grant['role']}:{scope}" if scope else str(grant["role"])


def _scope_of(grant: dict[str, Any]) -> str:
    names = [*grant.get("namespaces", []), *grant.get("clusterQueues", []), grant.get("executor")]
    return ",".join(name for name in names if name)


def revoke_token(
    ctx: typer.Context, names: Annotated[list[str], typer.Argument(metavar="NAME")]
) -> None:
    """Revoke tokens."""
    with client_of(ctx) as client:
        for name in names:
            client.remove(f"/v1/tokens/{name}")
            show(f"token/{name} revoked")


def whoami(ctx: typer.Context, output: Output = Format.TABLE) -> None:
    """Show the current user and server."""
    connection = connection_of(ctx)
    with client_of(ctx) as client:
        known = client.read("/v1/whoami")
    if not show_value(known, output):
        show(f"{known['name']} ({', '.join(map(_grant_text, known['grants']))})")
        if known.get("groups"):
            say(f"groups: {', '.join(known['groups'])}")
        say(f"{connection.url} (from {connection.source})")


def version(ctx: typer.Context) -> None:
    """Show client and server version."""
    show(f"client {installed_version('headgate')}")
    try:
        with client_of(ctx, patience_seconds=1.0) as client:
            known = client.read("/v1/system")
    except Failure:
        say("server unreachable")
        return
    show(f"server {known['version']}, log position {known['position']}")


CONTEXT_HEADERS = ("name", "current", "server", "token")
ContextName = Annotated[str, argument("NAME", "Context", autocompletion=complete_contexts)]
NewName = Annotated[str, argument("NAME", "Context", autocompletion=complete_contexts)]
CaCert = Annotated[str, option("FILE", "Trusted certificates in PEM", "--cacert")]


def get_contexts(*, output: Output = Format.TABLE, no_headers: NoHeaders = False) -> None:
    """List the contexts (tokens are not shown)."""
    kept = read_contexts(_path())
    if not kept.contexts and output in (Format.TABLE, Format.WIDE):
        say("No contexts. Add one: headgate config set-context NAME --server URL --token TOKEN")
        return
    items = [
        {"name": name, "current": name == kept.current, "server": context.server,
         "token": "set" if context.token else "-"}
        for name, context in sorted(kept.contexts.items())
    ]  # fmt: skip
    rows = [
        [str(item["name"]), "*" if item["current"] else "", str(item["server"]), str(item["token"])]
        for item in items
    ]
    show_answer({"items": items}, CONTEXT_HEADERS, rows, output, no_headers=no_headers)


def current_context() -> None:
    """Show the name of the current context."""
    kept = read_contexts(_path())
    if not kept.current:
        raise CommandFailed(
            "there is no current context",
            remedy="headgate config set-context NAME --server URL --token TOKEN",
            code=ExitCode.NOT_FOUND,
        )
    show(kept.current)


def use_context(name: ContextName) -> None:
    """Make a context the current one."""

    def chosen(kept: Contexts) -> Contexts:
        _require(kept, name)
        return msgspec.structs.replace(kept, current=name)

    _change(chosen)
    show(f"context/{name} is current")


def set_context(ctx: typer.Context, name: NewName) -> None:
    """Add a context, or change one; takes --server, --token and --cacert.

    Example: `headgate config set-context prod --server https://headgate.example --token SECRET`
    """
    flags = ctx.find_object(Flags) or Flags()
    if not name.strip() or not name.isprintable():
        raise CommandFailed(f"{name!r} is not a name", code=ExitCode.USAGE)
    if flags.server and not is_url(flags.server):
        raise CommandFailed(
            f"--server {flags.server}: not a URL", remedy=NOT_A_URL, code=ExitCode.USAGE
        )
    given = {"server": flags.server, "token": flags.token, "cacert": flags.cacert}
    known = {field: value for field, value in given.items() if value}

    def with_it(kept: Contexts) -> Contexts:
        changed = msgspec.structs.replace(kept.contexts.get(name, Context()), **known)
        contexts = {**kept.contexts, name: changed}
        return Contexts(current=kept.current or name, contexts=contexts)

    is_new = name not in _change(with_it).contexts
    show(f"context/{name} {'created' if is_new else 'changed'}")


def delete_context(name: ContextName) -> None:
    """Delete a context."""

    def without_it(kept: Contexts) -> Contexts:
        _require(kept, name)
        left = {each: context for each, context in kept.contexts.items() if each != name}
        return Contexts(current="" if kept.current == name else kept.current, contexts=left)

    was_current = _change(without_it).current == name
    show(f"context/{name} deleted")
    if was_current:
        say("There is no current context now; choose one: headgate config use-context NAME")


def _require(kept: Contexts, name: str) -> None:
    if name not in kept.contexts:
        raise UnknownContext(name, sorted(kept.contexts))


def _change(changed: Callable[[Contexts], Contexts]) -> Contexts:
    """Changes the user's file; returns the contexts before."""
    kept = read_contexts(_path())
    write_contexts(_path(), changed(kept))
    return kept


def _path() -> Path:
    return Path.home() / CONFIGURATION_PATH


VIEW_HEADERS = ("name", "owner", "shared", "filter", "sort", "group", "columns", "saved")
ViewName = Annotated[str, argument("NAME", "View")]


def list_views(
    ctx: typer.Context, *, output: Output = Format.TABLE, no_headers: NoHeaders = False
) -> None:
    """List your saved views of workloads, and those that others share."""
    with client_of(ctx) as client:
        found = client.read("/v1/views")
    rows = []
    for view in found["items"]:
        parts = [part_of_view(view, part) or NOT_THERE for part in VIEW_HEADERS[3:7]]
        is_shared = "yes" if view["isShared"] else "no"
        rows.append([view["name"], view["owner"], is_shared, *parts, age_of(view["savedAt"])])
    show_answer(found, VIEW_HEADERS, rows, output, no_headers=no_headers)


def save_view(
    ctx: typer.Context,
    *,
    name: ViewName,
    words: Annotated[str, option("WORDS", "Filter as on the page: 'gpu:>8 owner:me'", "--filter")],
    sort: Annotated[str, option("FIELD", "Order: wait, or -gpu for the largest first")] = "",
    group: Annotated[str, option("FIELD", f"Group by {', '.join(GROUPS)}")] = "",
    columns: Annotated[str, option("NAMES", f"Comma-separated: {', '.join(ROW_CELLS)}")] = "",
    share: Annotated[bool, typer.Option("--share", help="Show it to all users")] = False,
) -> None:
    """Save a view of the list of workloads, in place of yours of this name."""
    wanted = columns.split(",") if columns else []
    for value, known in (*((each, tuple(ROW_CELLS)) for each in wanted), (group, ("", *GROUPS))):
        if value not in known:
            fields = ", ".join(filter(None, known))
            raise CommandFailed(f"unknown: {value}", remedy=f"Use {fields}", code=ExitCode.USAGE)
    shown = [each for each in ROW_CELLS if each in wanted or each in FIXED_COLUMNS]
    parts = {"filter": words.strip(), "sort": sort, "group": group}
    parts["columns"] = ",".join(shown) if wanted else ""
    query = urlencode({part: value for part, value in parts.items() if value})
    with client_of(ctx) as client:
        # The server says what it does not understand before the view is saved.
        client.read("/v1/workload-rows", {**row_query(parts), "limit": "1"})
        client.replace(f"/v1/views/{quote(name, safe='')}", {"query": query, "isShared": share})
    show(f"view/{name} saved")


def delete_view(ctx: typer.Context, *, name: ViewName) -> None:
    """Delete your view of this name."""
    with client_of(ctx) as client:
        client.remove(f"/v1/views/{quote(name, safe='')}")
    show(f"view/{name} deleted")
