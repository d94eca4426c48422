"""Prints the GPUs of this machine as its node has them: `python -m tests.executors.gpu`.

A pod that asks for one GPU must see exactly that one in CUDA_VISIBLE_DEVICES, and a second pod must
not get it. Prints `skipped` on a machine without GPUs; test_host_resources has recorded answers of
NVML for those: eight H100, MIG, and none.
"""

import contextlib
import sys
import tempfile
from pathlib import Path

from headgate.executor.substrate import CannotStart
from headgate.executor.substrates.agent.host import AgentHost, HostSettings
from headgate.executor.substrates.agent.inventory import (
    GPU,
    Gpu,
    NodeSettings,
    NvmlInventory,
    describe_host,
)
from headgate.executor.substrates.agent.pod_template import PodRules
from tests.executors.pods import ended, key_of, output_of, plan_of, shell


def main() -> int:
    """0 where every GPU is given to one pod at a time, or where there is none."""
    gpus = NvmlInventory().gpus()
    if not gpus:
        print("skipped: this machine has no GPU, or no driver for it")
        return 0
    settings = NodeSettings(name="this", executor="gpus")
    print(f"node: {GPU} {describe_host(settings, gpus).capacity[GPU]}")
    for gpu in gpus:
        print(f"{gpu.id}  {gpu.model}  {gpu.memory_bytes >> 20} MiB")
    with tempfile.TemporaryDirectory() as directory:
        host = HostSettings(
            directory=Path(directory), node=settings, rules=PodRules(allow_root=True)
        )
        with contextlib.closing(AgentHost(host, NvmlInventory())) as agent:
            return _give(agent, gpus)


def _give(agent: AgentHost, gpus: list[Gpu]) -> int:
    """Gives each GPU to a pod; one more pod is refused."""
    seen = []
    for index in range(len(gpus)):
        agent.start(plan_of(key_of(index), _one_gpu("echo $CUDA_VISIBLE_DEVICES; sleep 5")))
    try:
        agent.start(plan_of(key_of(len(gpus)), _one_gpu("true")))
        print("WRONG: one pod more than GPUs was started")
        return 1
    except CannotStart as refused:
        print(f"one pod more: {refused}")
    for index in range(len(gpus)):
        ended(agent, key_of(index))
        seen.append(output_of(agent, key_of(index)).strip())
    print(f"pods saw: {', '.join(seen)}")
    return 0 if sorted(seen) == sorted(gpu.id for gpu in gpus) else 1


def _one_gpu(script: str) -> object:
    template = shell(script)
    template["spec"]["containers"][0]["resources"] = {"limits": {GPU: "1"}}
    return template


if __name__ == "__main__":
    sys.exit(main())
