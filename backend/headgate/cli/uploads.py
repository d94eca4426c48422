"""The option `--upload`: a directory that is shipped with a workload."""

from pathlib import Path
from typing import Annotated, Any

from headgate.cli.failures import CommandFailed, ExitCode
from headgate.cli.options import option
from headgate.cli.output import say
from headgate.client.client import HeadgateClient
from headgate.client.uploads import IGNORE_FILE, UPLOAD, NotUploadable, archive_of, send_upload

Object = dict[str, Any]
Upload = Annotated[
    Path | None,
    option("DIRECTORY", "Ship a directory: each pod begins in its own copy (.headgateignore)"),
]


def directory_of(upload: Path | None, chdir: str) -> str:
    """Returns the working directory on the hosts; empty for that of an upload."""
    if upload is not None and chdir:
        raise CommandFailed(
            "specify --upload or --chdir, not both",
            code=ExitCode.USAGE,
            remedy="Pods begin in the uploaded directory; change into one below it in the command.",
        )
    return "" if upload is not None else chdir or str(Path.cwd())


def ship(client: HeadgateClient, manifest: Object, upload: Path | None) -> None:
    """Sends a directory unless the server has it, and has the pods begin in it."""
    if upload is None:
        return
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
