"""The spec of Namespace: empty, as its labels say everything we need."""

import msgspec


class NamespaceSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing but the name and labels of the object itself."""
