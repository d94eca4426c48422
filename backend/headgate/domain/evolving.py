"""How one event changes the state of whatever stream it is of."""

from typing import Any

from headgate.domain.config import CONFIGURED_EVOLVE
from headgate.domain.rounds.evolve import evolve as evolve_round
from headgate.domain.values.instants import Instant
from headgate.domain.workloads.evolve import evolve as evolve_workload


def evolve_state(kind: str, state: Any, event: Any, at: Instant) -> Any:  # noqa: ANN401 - by kind
    """The state after the event; of which kind both are, the stream says."""
    if kind == "workload":
        return evolve_workload(state, event, at)
    if kind == "round":
        return evolve_round(state, event, at)
    return CONFIGURED_EVOLVE[kind](state, event, at)
