"""Steps that bring the stored shape of an old event to the next schema version, by event name.

A step takes the fields of one version as a dictionary and gives those of the next. It is total and
never changes once events of the newer version exist.
"""

from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]
Step = Callable[[Fields], Fields]

UPCASTERS: dict[tuple[str, int], Step] = {}
"""By stored name and the schema version a step starts from."""
