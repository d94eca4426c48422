"""Texts of violations by one field, whatever object it belongs to: names, ranges, lengths."""

from collections.abc import Mapping

from headgate.messages.rendering import Text

TEXTS: Mapping[str, Text] = {
    # Numbers of entries, ranges, lengths
    "BelowMinimum": Text("Must be at least {minimum}; got {value}", "Use {minimum} or more."),
    "Duplicate": Text("Duplicate value {value}", "Remove one of them."),
    "LengthInvalid": Text(
        "Must have {minimum} to {maximum} characters; got {length}", "Use an allowed length."
    ),
    "NotInFuture": Text("Must be in the future", "Use a later time."),
    "NotInRange": Text(
        "Must be between {minimum} and {maximum}; got {value}", "Use a number in this range."
    ),
    "NotPod": Text(
        "{value} is no pod of the workload", "Use a rank, or a pod set and an index: main/0."
    ),
    "ReasonMissing": Text("A reason is required", "Say in a few words why."),
    "TooFew": Text("At least {minimum} {field} required", "Add one."),
    "TooMany": Text("At most {maximum} {field} allowed; got {count}", "Remove {excess}."),
    # Choices
    "FieldImmutable": Text("Immutable; the value is {value}", "Create another object instead."),
    "NotExactlyOne": Text("Exactly one of {fields:all} must be set", "Set one of them."),
    "NotOneOf": Text(
        "Must be one of {choices:all}; got {value}", "[Did you mean {nearest}? ]Use one of these."
    ),
    "NotTogether": Text("{fields:all} cannot be set together", "Keep one of them."),
    # Types
    "NotInteger": Text("Must be an integer", "Write it without quotes, point or unit."),
    "NotIntegerString": Text("Must be an integer in a string; got {value}", 'Write it like "100".'),
    "NotTimestamp": Text(
        "Must be an RFC 3339 time with its offset", "Write it like 2026-09-24T12:00:00Z."
    ),
    # Names and labels
    "LabelPrefixInvalid": Text(
        "The prefix before '/' must be a DNS name of at most 253 characters; got {value}",
        "Use a prefix like example.com/.",
    ),
    "NotDnsLabel": Text(
        "Must be 1 to 63 lowercase letters, digits or '-', starting and ending with a letter or"
        " digit[; got {value}]",
        "Choose another name.",
    ),
    "NotDnsSubdomain": Text(
        "Must be 1 to 253 lowercase letters, digits, '-' or '.', each part between dots starting"
        " and ending with a letter or digit[; got {value}]",
        "Choose another name.",
    ),
    "NotLabelKey": Text(
        "Must be 1 to 63 letters, digits, '-', '_' or '.', starting and ending with a letter or"
        " digit, with an optional prefix like example.com/[; got {value}]",
        "Choose another key.",
    ),
    "NotLabelValue": Text(
        "Must be empty or at most 63 letters, digits, '-', '_' or '.', starting and ending with a"
        " letter or digit; got {value}",
        "Choose another value.",
    ),
    "AnnotationsTooLong": Text(
        "Annotations together have at most {maximum} bytes; got {length}", "Shorten them."
    ),
    # Selectors, taints and tolerations
    "NodeFieldUnknown": Text(
        "Only the node field metadata.name can be matched; got {value}",
        "Use metadata.name, or match labels with matchExpressions.",
    ),
    "SelectorValueNotInteger": Text(
        "Operator {operator} requires exactly one integer value", "Set one integer."
    ),
    "SelectorValuesMissing": Text("Operator {operator} requires values", "Add a value."),
    "SelectorValuesNotAllowed": Text("Operator {operator} takes no values", "Remove the values."),
    "TolerationValueNotAllowed": Text(
        "A toleration with operator Exists has no value",
        "Remove the value, or set operator: Equal.",
    ),
    "TolerationWithoutKey": Text(
        "A toleration without a key must have operator Exists",
        "Set operator: Exists, or name a key.",
    ),
}
