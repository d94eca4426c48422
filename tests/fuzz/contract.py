"""`python -m tests.fuzz.contract`: schemathesis on a running installation with its own Postgres.

All checks and phases, stateful ones too: an answer that the OpenAPI document does not name, of
another shape than it says, or with a server error fails. The stream is left out, as it does not
end. Most names are those of objects that were made before (`tests.fuzz.objects`).
"""

import argparse
import subprocess
import sys
from pathlib import Path

import httpx

from tests.fuzz.objects import Objects
from tests.processes.up import Up, services

HERE = Path(__file__).parent


def main() -> int:
    """Run it on an installation of its own; what schemathesis ends with."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.contract", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=900, help="for all phases together")
    parser.add_argument("--examples", type=int, default=20, help="of each operation")
    asked = parser.parse_args()
    with services() as up:
        up.start("--demo")
        ended = _check(up, asked)
        up.stop()
    return ended


def _check(up: Up, asked: argparse.Namespace) -> int:
    token = (up.data / "admin-token").read_text().strip()
    configuration = up.directory / "schemathesis.toml"
    with httpx.Client(
        base_url=up.url, headers={"Authorization": f"Bearer {token}"}, timeout=60
    ) as http:
        objects = Objects(http, http.get("/v1/openapi.json").json())
        objects.make()
    rules = (HERE / "schemathesis.toml").read_text()
    configuration.write_text(f"{rules}\n{objects.configuration()}\n")
    command = [
        str(Path(sys.executable).with_name("schemathesis")),
        "--config-file", str(configuration),
        "run", f"{up.url}/v1/openapi.json", "--header", f"Authorization: Bearer {token}",
        "--checks", "all", "--phases", "examples,coverage,fuzzing,stateful",
        "--exclude-path", "/v1/stream", "--seed", str(asked.seed), "--no-color",
        "--max-examples", str(asked.examples), "--max-time", str(asked.seconds),
        "--continue-on-failure", "--request-timeout", "30", "--suppress-health-check", "all",
    ]  # fmt: skip
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
