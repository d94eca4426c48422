"""Pending reasons, protection rules and ends of rounds from before messages had codes."""

from headgate.event_log.upcasters.recorded_text import Fields, as_recorded

TEXTS_OF_EXCLUSIONS = {
    "nodeSelector": "NodeSelector",
    "affinity": "Affinity",
    "topologyDomain": "TopologyDomain",
    "not ready or cordoned": "Unusable",
}


def explained_with_messages(fields: Fields) -> Fields:
    """`workload.explained` 1 to 2: the sentence, the blockers' messages and the remedies."""
    explanation = dict(fields["explanation"])
    sentence = explanation.pop("sentence")
    explanation["message"] = as_recorded(sentence)
    explanation["blockers"] = [_blocker(each) for each in explanation.get("blockers", ())]
    explanation["would_unblock"] = [as_recorded(t) for t in explanation.get("would_unblock", ())]
    return {**fields, "explanation": explanation}


def committed_with_messages(fields: Fields) -> Fields:
    """`round.committed` 1 to 2: the rules that protect refused candidates."""
    return {**fields, "refused": _refused(fields.get("refused", ()))}


def aborted_with_message(fields: Fields) -> Fields:
    """`round.aborted` 1 to 2: the cause."""
    return {**fields, "cause": as_recorded(fields["cause"])}


def cancelled_with_message(fields: Fields) -> Fields:
    """`workload.eviction_cancelled` 1 to 2: the cause."""
    return {**fields, "cause": as_recorded(fields["cause"])}


def _blocker(fields: Fields) -> Fields:
    hosts = fields.get("excluded_hosts", {})
    return {
        **fields,
        "message": as_recorded(fields["message"]),
        "refused": _refused(fields.get("refused", ())),
        "excluded_hosts": [_exclusion(text, count) for text, count in hosts.items()],
    }


def _refused(stored: list[Fields] | tuple[Fields, ...]) -> list[Fields]:
    return [{**each, "rule": as_recorded(each["rule"])} for each in stored]


def _exclusion(text: str, hosts: int) -> Fields:
    if text in TEXTS_OF_EXCLUSIONS:
        return {"cause": TEXTS_OF_EXCLUSIONS[text], "hosts": hosts}
    kind, _, quoted = text.partition(" ")
    cause = {"resource": "Resource", "taint": "Taint"}.get(kind)
    if cause is None:
        return {"cause": "Recorded", "detail": text, "hosts": hosts}
    return {"cause": cause, "detail": quoted.strip('"'), "hosts": hosts}
