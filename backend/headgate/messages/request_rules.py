"""Texts of requests that the API rejects: bodies, query parameters, reads of the past."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
    "RequestInvalid": Text(
        "{errors:validation error}. [{pointer}: ]{first}",
        "Fix each entry of errors and send the request again.",
    ),
    # Bodies
    "AddressDiffers": Text("Must be {value}, as in the URL", "Make body and URL agree."),
    "BodyMissing": Text("A body is required", "Send one."),
    "FieldInvalid": Text("{reason}", "Fix the value."),
    "ItemsMissing": Text("A batch must be an object with a list of items", "Send items."),
    "TypeDiffers": Text("Must be of type {expected:all}; got {found}", "Use a listed type."),
    "ValueEmpty": Text("Must not be empty", "Say it in a few words."),
    "ValueInvalid": Text("Invalid value {value}", "See the API reference for allowed values."),
    # Query parameters
    "LabelSelectorInvalid": Text(
        "Invalid label selector requirement[ {value}]",
        "Write it like a=b, a!=b, a in (b,c), a notin (b,c), a or !a.",
    ),
    "NotPosition": Text("Must be a position in the event log", "Use an integer of at least 0."),
    "NotStreamName": Text("Must be kind/name; got {value}", "Write it like node/host-1."),
    "ParameterUnknown": Text(
        "Unknown query parameter[ {name}]", "[Did you mean {nearest}? ]Known are {known:all}."
    ),
    "PriorityChangeUnreadable": Text(
        "Must be namespace/name:number; got {value}", "Write it like team-a/train-3:100."
    ),
    "RequestsUnreadable": Text(
        "Must be resource=quantity, at least 0[; got {value}]",
        "Write the requests of one pod, such as cpu=4,memory=8Gi.",
    ),
    # Reads of the past
    "PastNotWritable": Text("Only reads take a time in the past", "Remove `at`."),
    "ReadOfPresentOnly": Text("Only the present state can be read", "Remove `at`."),
    "StreamWithoutPast": Text("A stream has no past state", "Read /v1/events with `at`."),
}
