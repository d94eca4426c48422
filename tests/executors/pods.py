"""Builders of plans, assignments and agents for tests of executors."""

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from headgate.adapters.system.clocks_and_randomness import wall_clock
from headgate.executor.assignments import AssignedPod, AssignedPodSet, Assignment, Owner, Rendezvous
from headgate.executor.core import ExecutorCore
from headgate.executor.substrate import ObservedRun, PodPlan, RunKey, Substrate
from headgate.executor.substrates.agent.host import AgentHost, HostSettings
from headgate.executor.substrates.agent.inventory import Gpu, NodeSettings
from headgate.executor.substrates.agent.pod_template import PodRules

LOG = "log-1"
WAIT_SECONDS = 180.0
Found = TypeVar("Found")


class NoGpus:
    """A host without GPUs."""

    def gpus(self) -> list[Gpu]:
        return []


def own_uid() -> str:
    """Of this process alone: a host runs a pod once, and tests run at the same time.

    Asked anew each time, as the processes of a run are forked once this module is imported.
    """
    return f"0193-{os.getpid()}"


def key_of(index: int = 0, *, attempt: int = 1, run: int = 1, uid: str = "") -> RunKey:
    return RunKey(
        workload="team-a/train",
        uid=uid or own_uid(),
        attempt=attempt,
        pod_set="main",
        index=index,
        run=run,
    )


def own_name() -> str:
    """The name of the run that most tests have."""
    return key_of().name


def template_of(*command: str, container: dict[str, Any] | None = None, **spec: Any) -> Any:
    main = {"name": "main", "command": list(command), **(container or {})}
    return {"spec": {"containers": [main], **spec}}


def plan_of(key: RunKey, template: Any, **settings: Any) -> PodPlan:
    made = {"owner": "ada", "node": "host-1", "environment": {}, "hosts": ("host-1",)}
    return PodPlan(key=key, log_id=LOG, template=template, **{**made, **settings})


def shell(script: str, **spec: Any) -> Any:
    return template_of("sh", "-c", literal(script), **spec)


def literal(text: str) -> str:
    """Escapes what Kubernetes would expand in a command: `$$` and `$(NAME)`."""
    return re.sub(r"\$(?=[$(])", "$$", text)


def python(program: str, **spec: Any) -> Any:
    return template_of(sys.executable, "-c", literal(program), **spec)


def assignment_of(
    template: Any, *, pods: int = 1, run: int = 1, attempt: int = 1, **settings: Any
) -> Assignment:
    assigned = tuple(
        AssignedPod(index=index, rank=index, run=run, node="host-1") for index in range(pods)
    )
    made = Assignment(
        workload="team-a/train",
        uid=own_uid(),
        attempt=attempt,
        owner=Owner(user="ada"),
        world_size=pods,
        rendezvous=Rendezvous(host="host-1", port=20_001),
        hosts=("host-1",) * pods,
        pod_sets=(AssignedPodSet(name="main", template=template, pods=assigned),),
    )
    return msgspec.structs.replace(made, **settings)


def host_of(directory: Path, **rules: Any) -> AgentHost:
    # Processes of one run of tests start pods of equal names, and cgroups are the machine's.
    node = NodeSettings(name="host-1", executor=f"rack-{os.getpid()}")
    settings = HostSettings(
        directory=directory / "agent", node=node, rules=PodRules(**{"allow_root": True, **rules})
    )
    return AgentHost(settings, NoGpus())


def core_of(host: AgentHost, directory: Path, said: list[str] | None = None) -> ExecutorCore:
    lines = [] if said is None else said
    return ExecutorCore(host, directory / "core", now=wall_clock, say=lines.append)


def eventually(look: Callable[[], Found | None], host: Substrate | None = None) -> Found:
    """Returns what `look` finds once it finds something."""
    give_up_at = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < give_up_at:
        found = look()
        if found:
            return found
        if host is not None:
            host.wait(0.1)
        else:
            time.sleep(0.01)
    raise AssertionError(f"nothing found within {WAIT_SECONDS:g} s")


def ended(host: Substrate, key: RunKey) -> ObservedRun:
    """Returns a run once it has ended."""

    def look() -> ObservedRun | None:
        run = host.observe().get(key.name)
        return run if run is not None and run.state == "Ended" else None

    return eventually(look, host)


def output_of(host: Substrate, key: RunKey, stream: str = "stdout") -> str:
    found, offset = b"", 0
    while content := (chunk := host.logs(key, stream, offset, 1 << 20)).content:
        found, offset = found + content, chunk.end
    return found.decode()
