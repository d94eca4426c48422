"""What a job of Ray runs: `python headgate_job.py run` and `python headgate_job.py order`.

This file is sent to the cluster with each job. It stands alone, as nodes of Ray have Python and
Ray, and nothing of Headgate. A driver makes a placement group with a bundle for each rank on the
node that was chosen, and an actor in each supervises one pod. What becomes of a pod stands in files
below the logs of Ray's session, which the dashboard serves.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

HOST_LABEL = "headgate.dev/host"
NAMESPACE = "headgate"
JOB = "job.json"
ORDERS = "HEADGATE_ORDERS"
POD_MODULE = "headgate_pod"
LOOK_SECONDS = 0.5

Object = dict[str, Any]


def main() -> None:
    """Runs the ranks of the job of this directory, or gives orders to them."""
    job = json.loads(Path(__file__).with_name(JOB).read_text())
    ray = importlib.import_module("ray")
    ray.init(address="auto", namespace=NAMESPACE, log_to_driver=False)
    if sys.argv[1] == "order":
        give_orders(ray, json.loads(os.environ[ORDERS]))
    else:
        run_ranks(ray, job)


def run_ranks(ray: Any, job: Object) -> None:
    """Starts an actor for each rank on its node, and returns when all pods have ended."""
    groups = importlib.import_module("ray.util.placement_group")
    strategies = importlib.import_module("ray.util.scheduling_strategies")
    runs = job["runs"]
    group = groups.placement_group(
        [run["bundle"] for run in runs],
        strategy="PACK",
        bundle_label_selector=[{HOST_LABEL: run["host"]} for run in runs],
    )
    ray.get(group.ready())
    actors = {}
    for index, run in enumerate(runs):
        bundle = run["bundle"]
        actors[run["name"]] = (
            ray.remote(Rank)
            .options(
                name=run["name"],
                num_cpus=bundle.get("CPU", 0),
                num_gpus=bundle.get("GPU", 0),
                memory=bundle.get("memory", 0) or None,
                max_concurrency=2,
                max_restarts=0,
                scheduling_strategy=strategies.PlacementGroupSchedulingStrategy(
                    placement_group=group, placement_group_bundle_index=index
                ),
            )
            .remote(job["directory"], run, job["keepSeconds"])
        )
    waiting = {actors[run["name"]].run.remote(): run for run in runs}

    def stop(*_: object) -> None:
        order = {"reason": "Evicted", "signal": int(signal.SIGKILL), "kill_at": 0.0}
        for actor in actors.values():
            actor.order.remote(order)

    signal.signal(signal.SIGTERM, stop)
    while waiting:
        done, _ = ray.wait(list(waiting), num_returns=1, timeout=LOOK_SECONDS)
        for each in done:
            run = waiting.pop(each)
            try:
                ray.get(each)
            except Exception as error:  # noqa: BLE001 - whatever ended the actor
                _note_lost_rank(ray, job["directory"], run, error)
            # What the rank had is free for others; the driver lives as long as any rank.
            ray.kill(actors[run["name"]])


def give_orders(ray: Any, orders: list[Object]) -> None:
    """Gives each order to the ranks that it names; ranks that have ended take none."""
    given = []
    for order in orders:
        for name in order["runs"]:
            with contextlib.suppress(ValueError):
                given.append(ray.get_actor(name).order.remote(order["order"]))
    for each in given:
        with contextlib.suppress(Exception):
            ray.get(each)


def logs_directory(ray: Any) -> Path:
    """Returns the directory of which the dashboard serves the files of this node."""
    context = ray.get_runtime_context()
    return Path(context.get_temp_dir(), context.get_session_name(), "logs")


def _note_lost_rank(ray: Any, directory: str, run: Object, error: Exception) -> None:
    """Writes the end of a rank that could not do so, below the logs of the driver's node."""
    hosts = {node["Labels"].get(HOST_LABEL) for node in ray.nodes() if node["Alive"]}
    reason = "Error" if run["host"] in hosts else "NodeLost"
    if type(error).__name__ == "OutOfMemoryError":
        reason = "OOMKilled"
    own = logs_directory(ray) / directory / run["name"]
    own.mkdir(parents=True, exist_ok=True)
    pod = importlib.import_module(POD_MODULE)
    if not (own / pod.EXIT).exists():
        message = f"the worker of the rank ended: {str(error).strip().splitlines()[0]}"
        pod.write_end(own, reason, message=message)


class Rank:
    """An actor that supervises one pod on its node; it takes orders while the pod runs."""

    def __init__(self, directory: str, run: Object, keep_seconds: float) -> None:
        self._pod = importlib.import_module(POD_MODULE)
        root = logs_directory(importlib.import_module("ray")) / directory
        self._directory = root / run["name"]
        self._run = run
        self._directory.mkdir(parents=True, exist_ok=True)
        self._pod.remove_old(root, keep_seconds)

    def run(self) -> None:
        """Runs the pod to its end."""
        self._pod.supervise(self._directory, self._run)

    def order(self, order: Object) -> None:
        """Takes an order to stop."""
        self._pod.write(self._directory / self._pod.ORDER, order)


if __name__ == "__main__":
    main()
