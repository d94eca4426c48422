"""What may be called how: the name and label rules of Kubernetes (DNS-1123, qualified names).

Each function returns the code of the broken rule, or None for a valid text.
"""

import re
from functools import lru_cache

MAX_LABEL_LENGTH = 63
MAX_SUBDOMAIN_LENGTH = 253
MAX_LEVEL_KEY_LENGTH = 316

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)


def broken_rule_of_dns_label(text: str) -> str | None:
    """The rule that `text` breaks as the name of a namespace or pod set."""
    if len(text) <= MAX_LABEL_LENGTH and _LABEL.fullmatch(text):
        return None
    return "NotDnsLabel"


@lru_cache(maxsize=8192)
def broken_rule_of_name(text: str) -> str | None:
    """The rule that `text` breaks as the name of an object (a DNS-1123 subdomain)."""
    if len(text) <= MAX_SUBDOMAIN_LENGTH and _SUBDOMAIN.fullmatch(text):
        return None
    return "NotDnsSubdomain"


@lru_cache(maxsize=8192)
def broken_rule_of_label_key(text: str) -> str | None:
    """The rule that `text` breaks as the key of a label, a taint, or a resource."""
    prefix, slash, name = text.rpartition("/")
    if slash and broken_rule_of_name(prefix):
        return "LabelPrefixInvalid"
    if len(name) <= MAX_LABEL_LENGTH and _QUALIFIED.fullmatch(name):
        return None
    return "NotLabelKey"


@lru_cache(maxsize=8192)
def broken_rule_of_label_value(text: str) -> str | None:
    """The rule that `text` breaks as the value of a label."""
    if not text or (len(text) <= MAX_LABEL_LENGTH and _QUALIFIED.fullmatch(text)):
        return None
    return "NotLabelValue"
