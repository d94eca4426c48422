"""The options that many commands share, each with one meaning."""

from typing import Annotated

import typer

from headgate.cli.completion import complete_names, complete_namespaces
from headgate.cli.presentation.ages import seconds_of
from headgate.cli.presentation.formats import Format

DEFAULT_NAMESPACE = "default"


def _length_of_time(text: str) -> str:
    """The text if it says how long; a mistake is told before anything is asked of the server."""
    try:
        if text:
            seconds_of(text)
    except ValueError as mistake:
        raise typer.BadParameter(str(mistake)) from mistake
    return text


Namespace = Annotated[
    str,
    typer.Option("--namespace", "-n", help="The namespace.", autocompletion=complete_namespaces),
]
AllNamespaces = Annotated[bool, typer.Option("--all-namespaces", "-A", help="All namespaces.")]
Selector = Annotated[
    str, typer.Option("--selector", "-l", help="Label selector, such as team=vision,tier!=test.")
]
Output = Annotated[Format, typer.Option("--output", "-o", help="How to write the answer.")]
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Leave out the line of headers.")]
Watching = Annotated[bool, typer.Option("--watch", "-w", help="Go on showing changes.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept with the event for ever.")]
ExpiresIn = Annotated[
    str,
    typer.Option(
        "--for",
        help="How long, such as 30m or 2d; without it until undone.",
        callback=_length_of_time,
    ),
]
Since = Annotated[
    str,
    typer.Option("--since", help="Only of the last such time, like 2h.", callback=_length_of_time),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would happen.")]
Simulated = Annotated[
    bool, typer.Option(help="Only say what would start, wait or have to go; nothing is written.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Names = Annotated[
    list[str],
    typer.Argument(help="KIND NAME..., or KIND/NAME...", autocompletion=complete_names),
]
Timeout = Annotated[
    str,
    typer.Option(
        "--timeout", help="How long at most, such as 90s or 10m.", callback=_length_of_time
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, help="How many at most.")]
