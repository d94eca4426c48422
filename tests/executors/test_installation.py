"""What `pip install` brings into an empty environment, by extra."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVER_ONLY = ("celery", "numpy", "litestar", "sqlalchemy", "psycopg")


def installed(directory: Path, extra: str) -> Path:
    """The interpreter of a new environment with Headgate and an extra."""
    subprocess.run([sys.executable, "-m", "venv", directory], check=True)
    python = directory / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"{ROOT}[{extra}]"], check=True)
    return python


@pytest.mark.nightly
def test_an_agent_needs_nothing_of_the_server(tmp_path: Path) -> None:
    python = installed(tmp_path / "venv", "agent")
    listing = [str(python), "-m", "pip", "list", "--format", "freeze"]
    found = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.lower()
    assert [name for name in SERVER_ONLY if f"\n{name}" in f"\n{found}"] == []
    assert "nvidia-ml-py" in found
    headgate = python.with_name("headgate")
    told = subprocess.run([headgate, "--help"], capture_output=True, text=True, check=True).stdout
    assert "pip install 'headgate[server]'" in told
    own = subprocess.run([headgate, "agent", "--help"], capture_output=True, text=True, check=True)
    assert "--allow-root" in own.stdout
    refused = subprocess.run([headgate, "up"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "headgate[server]" in refused.stderr
