"""Batch scripts: `#HEADGATE` lines with options of `submit`, and `#SBATCH` lines of equal meaning.

As with sbatch the script is read when it is submitted, lines of options end at the first command,
and options of the command line win.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from headgate.cli.failures import CommandFailed, ExitCode

FILE_OPTIONS = ("-f", "--filename")
MAX_SCRIPT_BYTES = 100_000
"""Linux takes at most 128 KiB as one argument of a program."""
SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh", "python", "python3"})

_MINUTES_TO_SECONDS = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?")


class BatchScript(NamedTuple):
    """A script: the command that runs it, and its options in order, as words of `submit`."""

    command: list[str]
    options: list[str]
    ignored: list[str]


class _Meaning(NamedTuple):
    """An option of sbatch: its name here, and how its value is written here."""

    name: str
    value: str = "text"


SBATCH: dict[str, _Meaning] = {
    "--job-name": _Meaning("--name"),
    "-J": _Meaning("--name"),
    "--partition": _Meaning("--queue"),
    "-p": _Meaning("--queue"),
    "--ntasks": _Meaning("--pods"),
    "-n": _Meaning("--pods"),
    "--array": _Meaning("--array"),
    "-a": _Meaning("--array"),
    "--cpus-per-task": _Meaning("--cpu"),
    "-c": _Meaning("--cpu"),
    "--mem": _Meaning("--memory", "megabytes"),
    "--gpus-per-task": _Meaning("--gpu"),
    "--gres": _Meaning("--gpu", "gres"),
    "--time": _Meaning("--max-execution-seconds", "minutes"),
    "-t": _Meaning("--max-execution-seconds", "minutes"),
    "--chdir": _Meaning("--chdir"),
    "-D": _Meaning("--chdir"),
    "--qos": _Meaning("--priority-class"),
    "-q": _Meaning("--priority-class"),
}
"""Options of sbatch that mean the same here; others are told and left out."""


def read_script(path: Path, arguments: list[str]) -> BatchScript:
    """Returns a script with its options. Raises `CommandFailed` where it cannot be submitted."""
    try:
        text = path.read_text()
    except FileNotFoundError as error:
        words = " ".join([str(path), *arguments])
        raise CommandFailed(
            f"there is no script {path}",
            remedy=f"For a command instead of a script: headgate run -- {words}",
            code=ExitCode.USAGE,
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"can't read {path}: {error}", code=ExitCode.USAGE) from error
    if len(text.encode()) > MAX_SCRIPT_BYTES:
        raise CommandFailed(
            f"{path} has more than {MAX_SCRIPT_BYTES} bytes",
            remedy="Put it on a shared file system, and submit a script that starts it.",
            code=ExitCode.USAGE,
        )
    command = [*_interpreter(path, text), text, path.name, *arguments]
    options: list[str] = []
    ignored: list[str] = []
    for line in _option_lines(text):
        kind, _, rest = line.partition(" ")
        if kind == "#HEADGATE":
            options += shlex.split(rest, comments=True)
        else:
            _take_sbatch(shlex.split(rest, comments=True), options, ignored)
    return BatchScript(command=command, options=options, ignored=ignored)


def _interpreter(path: Path, text: str) -> list[str]:
    """Returns the program of the first line, which must take a program as text by `-c`."""
    first = text.partition("\n")[0]
    if not first.startswith("#!"):
        raise CommandFailed(
            f"{path} has no interpreter in its first line",
            remedy="Begin the script with #!/bin/sh",
            code=ExitCode.USAGE,
        )
    words = first.removeprefix("#!").split()
    names = {Path(word).name for word in words}
    if not names & SHELLS:
        raise CommandFailed(
            f"{path}: {first} is neither a shell nor Python",
            remedy="Submit a shell script that starts the program.",
            code=ExitCode.USAGE,
        )
    return [*words, "-c"]


def _option_lines(text: str) -> list[str]:
    """Returns the lines of options before the first command."""
    found = []
    for line in text.splitlines():
        if line.startswith(("#HEADGATE ", "#SBATCH ")):
            found.append(line)
        elif line.strip() and not line.startswith("#"):
            break
    return found


def _take_sbatch(words: list[str], options: list[str], ignored: list[str]) -> None:
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("--") and len(word) > len("-n"):
            name, equals, value = word[:2], "=", word[2:]
        meaning = SBATCH.get(name)
        if not equals and words and not words[0].startswith("-"):
            value = words.pop(0)
        if meaning is None:
            ignored.append(word)
        else:
            options += [meaning.name, _value(meaning, name, value)]


def _value(meaning: _Meaning, name: str, value: str) -> str:
    match meaning.value:
        case "megabytes":
            return f"{value}i" if value[-1:].isalpha() else f"{value}Mi"
        case "gres":
            kind, _, count = value.rpartition(":")
            if kind.partition(":")[0] != "gpu" and value != "gpu":
                raise CommandFailed(f"#SBATCH {name}={value}: only gpu:N", code=ExitCode.USAGE)
            return count if kind else "1"
        case "minutes":
            return str(_seconds(name, value))
        case _:
            return value


def _seconds(name: str, value: str) -> int:
    """Returns the seconds of `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S` (sbatch --time)."""
    found = _MINUTES_TO_SECONDS.fullmatch(value)
    if found is None:
        raise CommandFailed(f"#SBATCH {name}={value}: no time", code=ExitCode.USAGE)
    days, *rest = found.groups()
    numbers = [int(each) for each in rest if each is not None]
    if days is not None:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    elif len(numbers) > len(("minutes", "seconds")):
        hours, minutes, seconds = numbers
    else:
        hours, (minutes, seconds) = 0, (*numbers, 0)[:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def with_script_options(arguments: Sequence[str]) -> list[str]:
    """Returns the arguments of `submit` with the options of its script before those of the user.

    The last of two equal options counts. What comes after the script is passed on to it.
    """
    words = list(arguments)
    if "submit" not in words:
        return words
    first = words.index("submit") + 1
    for place in range(first, len(words)):
        if words[place] == "--":
            return words
        if words[place - 1] not in FILE_OPTIONS and _is_script(words[place]):
            try:
                options = read_script(Path(words[place]), []).options
            except CommandFailed:  # the command itself says so, as a failure of its own
                options = []
            return [*words[:first], *options, *words[first:place], "--", *words[place:]]
    return words


def _is_script(word: str) -> bool:
    try:
        with Path(word).open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False
