"""Rules for what a workload says of preemption (reference preemption.md §6.2, traps T18, T24)."""

from collections.abc import Iterator

from headgate.domain.rejection import Violation
from headgate.domain.values.names import broken_rule_of_label_key
from headgate.domain.values.pointers import child
from headgate.domain.workloads.specs import EvictionPolicy, WorkloadSpec

MAX_GRACE_SECONDS = 86_400
MAX_PREEMPTION_GATES = 8
MAX_HANDLER_LENGTH = 253


def preemption_setting_violations(spec: WorkloadSpec) -> Iterator[Violation]:
    """What is wrong with its preemption gates and its eviction policy."""
    yield from _gate_violations(spec.preemption_gates)
    if spec.eviction_policy is not None:
        yield from _policy_violations(spec.eviction_policy)


def _gate_violations(gates: tuple[str, ...]) -> Iterator[Violation]:
    pointer = "/spec/preemptionGates"
    if len(gates) > MAX_PREEMPTION_GATES:
        yield Violation(
            pointer=pointer,
            rule=f"A workload has at most {MAX_PREEMPTION_GATES} preemption gates.",
            remedy=f"Remove {len(gates) - MAX_PREEMPTION_GATES} of them.",
        )
    for index, gate in enumerate(gates):
        broken = broken_rule_of_label_key(gate)
        if broken:
            yield Violation(
                pointer=child(pointer, index, "name"),
                rule=broken,
                remedy="Name the gate like a label: example.com/gate.",
            )
        if gate in gates[:index]:
            yield Violation(
                pointer=child(pointer, index, "name"),
                rule=f"Gate {gate} is listed twice.",
                remedy="Name each gate once.",
            )


def _policy_violations(policy: EvictionPolicy) -> Iterator[Violation]:
    pointer = "/spec/evictionPolicy"
    if not 0 <= policy.grace_period_seconds <= MAX_GRACE_SECONDS:
        yield Violation(
            pointer=f"{pointer}/gracePeriodSeconds",
            rule=f"A grace period has 0 to {MAX_GRACE_SECONDS} seconds.",
            remedy="Give fewer, and let the handler report progress to get more.",
        )
    if len(policy.handler) > MAX_HANDLER_LENGTH:
        yield Violation(
            pointer=f"{pointer}/handler",
            rule=f"A handler's name has at most {MAX_HANDLER_LENGTH} characters.",
            remedy="Choose a shorter name.",
        )
    if policy.require_ack and not policy.handler:
        yield Violation(
            pointer=f"{pointer}/requireAck",
            rule="Only a handler can acknowledge an eviction.",
            remedy="Name the handler, or leave requireAck out.",
        )
