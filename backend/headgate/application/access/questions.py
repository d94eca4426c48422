"""Which right a user asks about, in the words of kubectl, of our commands or of the API."""

from headgate.application.access.rights import RESOURCES, VERBS, Right, Verb
from headgate.domain.field_rules import shown
from headgate.domain.kinds.registry import KINDS
from headgate.domain.rejection import InvalidRequest

READ_WORDS = ("get", "list", "watch", "read", "describe", "explain", "simulate")
WRITE_WORDS = ("create", "update", "replace", "apply", "edit", "delete", "revoke")
OPERATE_WORDS = (
    "hold", "release", "requeue", "activate", "deactivate", "cancel", "protect", "undo",
    "stop", "resume", "drain", "cordon", "uncordon",
)  # fmt: skip
REPORT_WORDS = ("acknowledge", "progress", "finish", "heartbeat")
WORKLOAD_WORDS = ("workload", "workloads", "wl")
WORDS = tuple(sorted({*VERBS, *READ_WORDS, *WRITE_WORDS, *OPERATE_WORDS, *REPORT_WORDS}))


def right_asked(verb: str, resource: str) -> Right:
    """Returns the right that a verb and a resource mean; raises `InvalidRequest` for unknown ones.

    To create, change or delete a workload is to submit, any other object to configure.
    """
    found = _resource(resource.lower())
    return Right(_verb(verb.lower(), found), found)


def _verb(word: str, resource: str) -> Verb:
    if word in READ_WORDS:
        return "read"
    if word in WRITE_WORDS:
        return "submit" if resource == "workloads" else "configure"
    if word in OPERATE_WORDS:
        return "operate"
    if word in REPORT_WORDS:
        return "report"
    found = next((verb for verb in VERBS if verb == word), None)
    if found is None:
        raise InvalidRequest.at("/verb", "NotOneOf", value=shown(word), choices=WORDS)
    return found


def _resource(word: str) -> str:
    if word in WORKLOAD_WORDS:
        return "workloads"
    for kind in KINDS:
        if word in (kind.name.lower(), kind.path, *kind.short_names):
            return kind.path
    for known in (word, f"{word}s"):
        if known in RESOURCES:
            return known
    choices = tuple(sorted(RESOURCES))
    raise InvalidRequest.at("/resource", "NotOneOf", value=shown(word), choices=choices)
