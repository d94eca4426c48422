"""Fields that have two names: Kueue's or ours, and that of another design."""

from collections.abc import Callable
from typing import TypeVar

from headgate.adapters.manifests.fields import Fields

T = TypeVar("T")


def either(fields: Fields, name: str, also: str, read: Callable[[str], T | None]) -> T | None:
    """What stands under one of two names; noted if both are there and disagree.

    `read` gives the meaning of the field of a name, or None where it is absent.
    """
    found, other = read(name), read(also)
    if found is not None and other is not None and found != other:
        fields.note(also, f"{also} and {name} set the same thing.", "Give only one of them.")
    return other if found is None else found
