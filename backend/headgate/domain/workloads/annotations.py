"""What workloads say of themselves in annotations of Kueue's (queueing.md §1.7)."""

from collections.abc import Iterator, Mapping

from headgate.domain.rejection import Violation
from headgate.domain.values.names import MAX_LABEL_LENGTH, broken_rule_of_label_key
from headgate.domain.values.pointers import child

ALLOWED_FLAVORS = "kueue.x-k8s.io/workload-allowed-resource-flavors"
ELASTIC = "kueue.x-k8s.io/elastic-job"
REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for"
PRIORITY_BOOST = "kueue.x-k8s.io/priority-boost"
ADMISSION_GATES = "kueue.x-k8s.io/admission-gated-by"

Annotations = Mapping[str, str]


def allowed_flavors(annotations: Annotations) -> tuple[str, ...]:
    """The only flavors the workload may have; empty means any."""
    return _listed(annotations.get(ALLOWED_FLAVORS, ""))


def admission_gates(annotations: Annotations) -> tuple[str, ...]:
    """The gates that keep it from being looked at; each is opened by taking it off the list."""
    return _listed(annotations.get(ADMISSION_GATES, ""))


def is_elastic(annotations: Annotations) -> bool:
    """Whether its number of pods changes while it runs."""
    return annotations.get(ELASTIC, "").lower() == "true"


def replaced_key(annotations: Annotations) -> str:
    """The workload (`namespace/name`) whose pods it takes over to run more of them; often empty."""
    return annotations.get(REPLACES, "")


def annotation_violations(
    annotations: Annotations, before: Annotations | None = None
) -> Iterator[Violation]:
    """What is wrong with what they say; `before` are those of a workload that exists already."""
    gates = admission_gates(annotations)
    pointer = child("/metadata/annotations", ADMISSION_GATES)
    for gate in gates:
        if len(gate) > MAX_LABEL_LENGTH or "/" not in gate or broken_rule_of_label_key(gate):
            yield Violation(
                pointer=pointer,
                rule=f"{gate!r:.80} is no gate: a gate is a domain, a slash and a name, with at "
                f"most {MAX_LABEL_LENGTH} characters.",
                remedy="Write it like example.com/gate, several with commas between them.",
            )
    if len(set(gates)) < len(gates):
        yield Violation(
            pointer=pointer,
            rule="A gate is listed twice.",
            remedy="List each gate once.",
        )
    added = [] if before is None else [g for g in gates if g not in admission_gates(before)]
    if added:
        yield Violation(
            pointer=pointer,
            rule=f"Gates are only ever removed once a workload exists; {added[0]} would be new.",
            remedy="Remove it, and hold the workload to keep it from starting.",
        )


def _listed(text: str) -> tuple[str, ...]:
    """The words of a list with commas, without the blanks around them."""
    return tuple(word for part in text.split(",") if (word := part.strip()))
