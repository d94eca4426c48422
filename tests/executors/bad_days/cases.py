"""A case of a bad day: what is done, what is expected, and what is seen."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.executors.agent_process import AgentProcess
from tests.executors.installation import Installation, Object

HOST = "host"
"""The Executor, pool and node of the agent that cases share."""


class Skipped(Exception):
    """This machine cannot do a case; the message says why."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The state and reason in which a case ended, and what it has left on the host.

    `wrong` names what else does not hold.
    """

    state: str
    reason: str
    leaked: Sequence[str] = ()
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """Rows that one run of `see` fills, with the state and reason that each must have."""

    rows: Sequence[tuple[str, str, str]]
    see: Callable[["Site"], Iterator[Seen]]


class Site:
    """The installation, with the agent that most cases share."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.host: AgentProcess = installation.started_agent(HOST)

    def ended(self, name: str, template: Object, pods: int = 1, **spec: object) -> Seen:
        """Runs a workload on the shared agent to its end."""
        made = self.installation
        made.submit(name, HOST, template, pods, **spec)
        made.await_end(name)
        return self.seen(name, self.host)

    def seen(self, name: str, *agents: AgentProcess, wrong: str = "") -> Seen:
        """What is seen of a workload that has ended, and of the hosts of agents."""
        made = self.installation
        pods = made.pods(name)
        reasons = sorted({str(pod["reason"] or pod["state"]) for pod in pods})
        leaked = made.leaked(agents)
        return Seen(made.phase(name), ", ".join(reasons), leaked, wrong)
