"""The command lines and environments of the programs of an installation."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from headgate.bootstrap import ADMISSION_QUEUE, UPKEEP_QUEUE
from headgate.embedded.children import Program
from headgate.settings import Settings

API = "api"
BROKER = "broker"
DEMO = "demo"


def environment_of(settings: Settings) -> dict[str, str]:
    """Returns the environment of this process with every setting of the installation."""
    given = {
        "DATABASE_URL": settings.database_url,
        "BROKER_URL": settings.broker_url,
        "DIRECTORY": str(settings.directory),
        "HOST": settings.host,
        "PORT": str(settings.port),
        "UI_DIRECTORY": str(settings.ui_directory),
        "LOG_LEVEL": settings.log_level,
    }
    named = {f"HEADGATE_{name}": value for name, value in given.items()}
    return {**os.environ, **named, "PYTHONUNBUFFERED": "1"}


def broker_program(command: list[str], logs: Path) -> Program:
    """Returns the embedded broker."""
    return Program(BROKER, tuple(command), dict(os.environ), logs / "broker.log", is_told=False)


def api_program(settings: Settings, environment: Mapping[str, str], logs: Path) -> Program:
    """Returns the API on Granian; open event streams do not delay its end."""
    command = (
        sys.executable, "-m", "granian", "--interface", "asgi", "--factory", "--no-ws",
        "--host", settings.host, "--port", str(settings.port), "--workers", "1",
        "--workers-kill-timeout", "2", "--log-level", "warning", "headgate.api.app:create_app",
    )  # fmt: skip
    return Program(API, command, environment, logs / "api.log")


def worker_programs(count: int, environment: Mapping[str, str], logs: Path) -> tuple[Program, ...]:
    """Returns `count` scheduler workers and one upkeep worker."""
    schedulers = [f"worker-{number}" for number in range(1, count + 1)]
    return (
        *(_worker(name, ADMISSION_QUEUE, environment, logs) for name in schedulers),
        _worker(UPKEEP_QUEUE, UPKEEP_QUEUE, environment, logs),
    )


def demo_program(url: str, token: str, environment: Mapping[str, str], logs: Path) -> Program:
    """Returns the demo, a client that loads a small cluster and submits workloads."""
    command = (sys.executable, "-m", "headgate.cli.demo")
    client = {**environment, "HEADGATE_URL": url, "HEADGATE_TOKEN": token}
    return Program(DEMO, command, client, logs / "demo.log")


def _worker(name: str, queue: str, environment: Mapping[str, str], logs: Path) -> Program:
    command = (
        sys.executable, "-m", "celery", "--quiet", "-A", "headgate_workers.app", "worker",
        "--pool", "solo", "--queues", queue, "--hostname", f"{name}@%h",
        "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING",
    )  # fmt: skip
    heartbeat = logs / f"{name}.heartbeat"
    own = {**environment, "HEADGATE_HEARTBEAT_FILE": str(heartbeat)}
    return Program(name, command, own, logs / f"{name}.log", heartbeat=heartbeat)
