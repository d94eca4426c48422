"""The spec of AdmissionCheck (reference queueing.md §1.6)."""

import msgspec


class CheckParameters(msgspec.Struct, frozen=True, kw_only=True):
    """What the controller reads its settings from."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which controller reports on it; `active` is what that controller last said of itself."""

    controller_name: str
    parameters: CheckParameters | None = None
    active: bool = True
