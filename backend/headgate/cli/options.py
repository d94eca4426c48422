"""Arguments and options that several commands share, and the client that the global ones select."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from headgate.cli.failures import CommandFailed, ExitCode, Failure
from headgate.cli.kinds import kind_of, kinds
from headgate.cli.output import Format, say
from headgate.cli.units import seconds_of
from headgate.client.client import HeadgateClient
from headgate.client.contexts import CONFIGURATION_PATH, find_connection, read_contexts
from headgate.client.transport import Connection
from headgate.settings import from_environment

COMPLETION_TIMEOUT_SECONDS = 1.0
COMPLETION_LIMIT = "200"
DEFAULT_NAMESPACE = "default"


def option(metavar: str, text: str, *names: str, **settings: Any) -> Any:  # noqa: ANN401 - Typer's types
    """Returns an option with the name of its value in the help, and its help text."""
    return typer.Option(*names, metavar=metavar, help=text, **settings)


def argument(metavar: str, text: str, **settings: Any) -> Any:  # noqa: ANN401 - same
    """Returns an argument with its name in the help, and its help text."""
    return typer.Argument(metavar=metavar, help=text, **settings)


OWN = "@me"
OwnerFilter = Annotated[str, option("USER", "Filter by the user who submitted", "--owner")]
MineFilter = Annotated[bool, typer.Option("--mine", help="Only workloads you submitted")]


def owner_filter(owner: str, *, mine: bool) -> str:
    """Returns the owner to filter by; empty for all. Raises `CommandFailed` for both at once."""
    if owner and mine:
        raise CommandFailed("--owner and --mine: use one of them", code=ExitCode.USAGE)
    return OWN if mine else owner


def complete_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes the first word to a kind, and words after it, or after `/`, to names of it."""
    words = ctx.params.get("names") or ctx.params.get("objects") or []
    word, slash, first = incomplete.partition("/")
    if not words and not slash:
        return [kind.words[0] for kind in kinds() if kind.words[0].startswith(incomplete)]
    try:
        kind = kind_of(word if slash else str(words[0]))
    except Failure:
        return []
    path = kind.path(_namespace(ctx) if kind.namespaced else "")
    if not slash:
        return _names(ctx, path, incomplete)
    return [f"{word}/{name}" for name in _names(ctx, path, first)]


def complete_workloads(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes names of workloads."""
    return _names(ctx, f"/v1/namespaces/{_namespace(ctx)}/workloads", incomplete)


def complete_cluster_queues(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes names of ClusterQueues."""
    return _names(ctx, "/v1/clusterqueues", incomplete)


def complete_queues(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes names of ClusterQueues, and after `cq/` or `lq/` names of that kind."""
    complete = complete_names if "/" in incomplete else complete_cluster_queues
    return complete(ctx, incomplete)


def complete_local_queues(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes names of LocalQueues of the namespace."""
    return _names(ctx, f"/v1/namespaces/{_namespace(ctx)}/localqueues", incomplete)


def complete_contexts(incomplete: str) -> list[str]:
    """Completes names of contexts."""
    try:
        known = read_contexts(Path.home() / CONFIGURATION_PATH).contexts
    except Failure:
        return []
    return [name for name in sorted(known) if name.startswith(incomplete)]


def complete_nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes names of nodes."""
    return _names(ctx, "/v1/nodes", incomplete)


def complete_namespaces(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completes names of namespaces."""
    return _names(ctx, "/v1/namespaces", incomplete)


def _namespace(ctx: typer.Context) -> str:
    return str(ctx.params.get("namespace") or DEFAULT_NAMESPACE)


def _names(ctx: typer.Context, path: str, incomplete: str) -> list[str]:
    connection = connection_of(ctx)
    try:
        with HeadgateClient(connection, patience_seconds=COMPLETION_TIMEOUT_SECONDS) as client:
            found = client.read(path, {"limit": COMPLETION_LIMIT})["items"]
    except Failure:
        return []
    names = (str(item["metadata"]["name"]) for item in found)
    return [name for name in names if name.startswith(incomplete)]


def _duration(text: str) -> str:
    """Returns a valid duration or an empty text; refuses others before a request is sent."""
    try:
        if text:
            seconds_of(text)
    except ValueError as mistake:
        raise typer.BadParameter(str(mistake)) from mistake
    return text


Namespace = Annotated[
    str, option("NAME", "Namespace", "--namespace", "-n", autocompletion=complete_namespaces)
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="All namespaces")]
Selector = Annotated[
    str, option("SELECTOR", "Label selector, e.g. team=vision,tier!=test", "--selector", "-l")
]
ClusterQueueFilter = Annotated[
    str,
    option(
        "NAME",
        "Filter by ClusterQueue",
        "--cluster-queue",
        "-c",
        autocompletion=complete_cluster_queues,
    ),
]
LocalQueue = Annotated[
    str, option("NAME", "LocalQueue", "--queue", "-q", autocompletion=complete_local_queues)
]
Output = Annotated[
    Format, option("FORMAT", f"Output format: {', '.join(Format)}", "--output", "-o")
]
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Omit table headers")]
Reason = Annotated[str, option("TEXT", "Reason (recorded in the event log)", "--reason")]
ExpiresIn = Annotated[
    str,
    option(
        "DURATION", "Duration, e.g. 30m, 2d (default: until undone)", "--for", callback=_duration
    ),
]
Since = Annotated[
    str, option("DURATION", "Look-back window, e.g. 2h", "--since", callback=_duration)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Validate only; don't apply")]


class DryRunMode(StrEnum):
    """How far a change is tried without being applied (kubectl: `--dry-run`)."""

    NONE = "none"
    CLIENT = "client"
    SERVER = "server"
    ADMISSION = "admission"


DryRunIn = Annotated[
    DryRunMode,
    option(
        "MODE",
        "Don't apply: client (read only), server (validate; the default of --dry-run), or "
        "admission (simulate)",
        "--dry-run",
    ),
]
Simulated = Annotated[
    bool, typer.Option("--simulate", help="Simulate scheduling impact; don't apply")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip confirmation")]
Names = Annotated[
    list[str],
    argument("KIND[/NAME]", "KIND NAME ..., or KIND/NAME ...", autocompletion=complete_names),
]
WorkloadName = Annotated[
    str, argument("WORKLOAD", "NAME, NAMESPACE/NAME or wl/NAME", autocompletion=complete_workloads)
]
Timeout = Annotated[
    str, option("DURATION", "Timeout, e.g. 90s, 10m", "--timeout", callback=_duration)
]
Limit = Annotated[int, option("NUMBER", "Maximum number of results", "--limit", min=1)]


SUFFIXES = frozenset({".yaml", ".yml", ".json"})


Files = Annotated[list[str], option("FILE", "File, directory, or - for stdin", "--filename", "-f")]


def documents_of(files: list[str]) -> bytes:
    """Returns the documents of files and directories, in order of path, as one text."""
    texts = [text for name in files for text in _texts_of(name)]
    if not any(text.strip() for text in texts):
        raise CommandFailed(f"no objects in {', '.join(files)}", code=ExitCode.USAGE)
    return b"\n---\n".join(texts)


def _texts_of(name: str) -> list[bytes]:
    if name == "-":
        return [sys.stdin.buffer.read()]
    path = Path(name)
    if path.is_dir():
        found = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES)
        if not found:
            raise CommandFailed(f"no .yaml, .yml or .json files in {name}", code=ExitCode.USAGE)
        return [each.read_bytes() for each in found]
    if not path.is_file():
        raise CommandFailed(f"file not found: {name}", code=ExitCode.USAGE)
    return [path.read_bytes()]


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """The global options."""

    server: str = ""
    token: str = ""
    at: str = ""
    cacert: str = ""
    context: str = ""


def connection_of(ctx: typer.Context) -> Connection:
    """Returns the connection by global options, environment, user file or local instance."""
    flags = ctx.find_object(Flags) or Flags()
    settings = from_environment()
    return find_connection(
        server=flags.server,
        token=flags.token,
        context=flags.context,
        environment=(settings.url, settings.token),
        cacert=flags.cacert or str(settings.cacert or ""),
        home=Path.home(),
        directory=settings.directory,
    )


PATIENCE_SECONDS = 10.0


def client_of(ctx: typer.Context, *, patience_seconds: float = PATIENCE_SECONDS) -> HeadgateClient:
    """Returns a client of the chosen server; `with` closes it.

    `--at` is resolved to a position once, so that all pages show one state.
    """
    client = HeadgateClient(
        connection_of(ctx),
        patience_seconds=patience_seconds,
        is_command=patience_seconds <= PATIENCE_SECONDS,
    )
    flags = ctx.find_object(Flags) or Flags()
    if flags.at:
        try:
            position = client.view_at(flags.at)
        except Exception:
            client.close()
            raise
        say(f"Past state at position {position} (read-only)")
    return client


Object = dict[str, Any]
Upload = Annotated[
    Path | None,
    option("DIRECTORY", "Ship a directory: each pod begins in its own copy (.headgateignore)"),
]


def directory_of(upload: Path | None, chdir: str, image: str = "") -> str:
    """Returns the working directory on the hosts; empty for that of an upload or image."""
    if upload is not None and chdir:
        raise CommandFailed(
            "specify --upload or --chdir, not both",
            code=ExitCode.USAGE,
            remedy="Pods begin in the uploaded directory; change into one below it in the command.",
        )
    return "" if upload is not None else chdir or ("" if image else str(Path.cwd()))


def with_image(manifest: Object, image: str) -> Object:
    """Returns a manifest of pods that run in an image, if one is given."""
    (container,) = manifest["spec"]["podSets"][0]["template"]["spec"]["containers"]
    container |= {"image": image} if image else {}
    return manifest


def ship(client: HeadgateClient, manifest: Object, upload: Path | None) -> None:
    """Sends a directory unless the server has it, and has the pods begin in it."""
    if upload is None:
        return
    from headgate.client.uploads import (  # noqa: PLC0415 - archives take long to import
        IGNORE_FILE,
        UPLOAD,
        NotUploadable,
        archive_of,
        send_upload,
    )

    try:
        archive = archive_of(upload)
    except NotUploadable as failure:
        raise CommandFailed(
            f"--upload: {failure}",
            code=ExitCode.USAGE,
            remedy=f"Exclude paths in {IGNORE_FILE}, with the patterns of .gitignore.",
        ) from failure
    if send_upload(client, manifest["metadata"]["namespace"], archive):
        say(f"Uploaded {upload}: {len(archive.content)} bytes")
    for pod_set in manifest["spec"]["podSets"]:
        pod_set["template"].setdefault("metadata", {}).setdefault("annotations", {})[UPLOAD] = (
            archive.digest
        )
