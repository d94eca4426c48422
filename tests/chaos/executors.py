"""`python -m tests.chaos.executors`: real processes while agent, API, worker and Postgres die.

Each process takes a lock by the identity of its pod and says so; another run of it at the same time
would find the lock taken. Nothing is lost, nothing runs twice at once, nothing is left behind.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from tests.chaos.faults import SECONDS_TO_COME_BACK, restart_the_database
from tests.executors.agent_process import HEADGATE, AgentProcess
from tests.executors.installation import Installation, Object, installation
from tests.executors.pods import shell
from tests.processes.programs import wait_until
from tests.processes.up import environment

POOL = "chaos"
PODS_OF_A_WORKLOAD = 5
PODS_AT_ONCE = 25
SECONDS_TO_FINISH = 900.0
SECONDS_BETWEEN_KILLS = 2.0
TARGETS = ("agent", "api", "worker", "postgres")


def main() -> int:
    """0 if everything held, 1 if not."""
    asked = _arguments()
    with installation() as made:
        broken = _run(made, asked.processes, asked.kills)
    for line in broken:
        print(f"BROKEN: {line}")
    return 1 if broken else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.executors", description=__doc__)
    parser.add_argument("--processes", type=int, default=500, help="so many pods")
    parser.add_argument("--kills", type=int, default=5, help="so often each target is killed")
    return parser.parse_args()


def _run(made: Installation, processes: int, kills: int) -> list[str]:
    place = made.directory / "chaos"
    for name in ("locks", "starts"):
        (place / name).mkdir(parents=True)
    made.pool(POOL, pods=PODS_AT_ONCE)
    options = ["--max-pods", str(2 * PODS_AT_ONCE)]
    agent = made.agent(POOL, POOL, made.executor(POOL), options=options).start()
    made.await_nodes(POOL)
    names = [f"chaos-{number}" for number in range(processes // PODS_OF_A_WORKLOAD)]
    template = shell(_script(place))
    made.client.submit_batch(
        [made.manifest(name, POOL, template, PODS_OF_A_WORKLOAD) for name in names]
    )
    killed = _kill_in_turn(made, agent, kills, place)
    (place / "enough").touch()
    _await_all(made, names)
    return _report(made, agent, names, killed, place)


def _script(place: Path) -> str:
    """Of each workload the first pod goes on until there were enough kills, if it starts late."""
    pod = "$HEADGATE_UID-$HEADGATE_POD_INDEX"
    return (
        f"exec 9> {place}/locks/{pod}; "
        f"flock -n 9 || {{ echo {pod} >> {place}/overlaps; exit 9; }}; "
        f"echo locked {pod}; echo $HEADGATE_RUN >> {place}/starts/{pod}; "
        f"n=0; while [ $n -lt 30 ] && ! [ -e {place}/enough ]; do sleep 0.2; n=$((n + 1)); done"
    )


def _kill_in_turn(made: Installation, agent: AgentProcess, kills: int, place: Path) -> Counter[str]:
    """Kills each target so often, each time once everything is back; the number of kills."""
    faults: dict[str, Callable[[], None]] = {
        "agent": lambda: _kill_agent(agent),
        "api": lambda: _kill_program(made, "api"),
        "worker": lambda: _kill_program(made, "worker-1"),
        "postgres": lambda: _kill_postgres(made),
    }
    killed: Counter[str] = Counter()
    for _ in range(kills):
        for target in TARGETS:
            faults[target]()
            killed[target] += 1
            wait_until(made.up.answers, f"the API is back after {target}", SECONDS_TO_COME_BACK)
            started = len(list((place / "starts").iterdir()))
            print(f"{started:>5} started: {target} killed", flush=True)
            time.sleep(SECONDS_BETWEEN_KILLS)
    return killed


def _kill_agent(agent: AgentProcess) -> None:
    agent.end(signal.SIGKILL)
    agent.start()


def _kill_program(made: Installation, name: str) -> None:
    """Kills a program with all that it has started; `headgate up` starts it again."""

    def kill() -> bool:
        pid = made.up.pid_of(name)
        if not pid:
            return False
        with suppress(psutil.NoSuchProcess):
            program = psutil.Process(pid)
            for process in (*program.children(recursive=True), program):
                os.kill(process.pid, signal.SIGKILL)
            return True
        return False

    wait_until(kill, f"{name} runs", SECONDS_TO_COME_BACK)
    time.sleep(0.5)


def _kill_postgres(made: Installation) -> None:
    restart_the_database(made.up)


def _await_all(made: Installation, names: list[str]) -> None:
    def are_over() -> bool:
        phases = Counter(_phases(made).get(name, "") for name in names)
        return phases["Succeeded"] + phases["Failed"] == len(names)

    with suppress(AssertionError):
        made.eventually(are_over, "all workloads have ended", SECONDS_TO_FINISH)


def _phases(made: Installation) -> dict[str, str]:
    items = made.client.items(f"/v1/namespaces/{made.namespace}/workloads")
    return {each["metadata"]["name"]: each["status"]["phase"] for each in items}


def _report(
    made: Installation, agent: AgentProcess, names: list[str], killed: Counter[str], place: Path
) -> list[str]:
    starts = [path.read_text().splitlines() for path in (place / "starts").iterdir()]
    pods = [pod for name in names for pod in made.pods(name)]
    results = [pod for pod in pods if pod["exitCode"] is not None]
    overlaps = _lines(place / "overlaps")
    left = made.leaked([agent])
    verified = subprocess.run(
        [HEADGATE, "verify"],
        env={**environment(), "HEADGATE_DIRECTORY": str(made.up.data), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    times = ", ".join(f"{target} {killed[target]}" for target in TARGETS)
    print(
        f"{sum(map(len, starts))} started, {len(results)} results, overlaps {len(overlaps)}, "
        f"left behind {len(left)}, kills: {times}"
    )
    print((verified.stdout.strip() or verified.stderr.strip()).splitlines()[-1])
    return [*_broken(names, pods, starts, overlaps), *left[:10], *_unclean(verified.returncode)]


def _broken(
    names: list[str], pods: list[Object], starts: list[list[str]], overlaps: list[str]
) -> list[str]:
    wanted = len(names) * PODS_OF_A_WORKLOAD
    found = [f"{each} found its lock taken" for each in overlaps]
    if (len(starts), sum(map(len, starts))) != (wanted, wanted):
        found.append(f"{len(starts)} of {wanted} pods started {sum(map(len, starts))} times")
    wrong = [pod for pod in pods if pod["state"] != "Succeeded" or pod["exitCode"] != 0]
    found += [f"a pod ended as {pod}" for pod in wrong[:10]]
    if len(pods) != wanted:
        found.append(f"{len(pods)} pods are known")
    return found


def _unclean(code: int) -> list[str]:
    return ["headgate verify found a broken rule"] if code else []


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
