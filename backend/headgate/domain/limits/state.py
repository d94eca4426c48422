"""The states of LimitRanges and RuntimeClasses."""

from headgate.domain.configured import Absent, Configured
from headgate.domain.limits.specs import LimitRangeSpec, RuntimeClassSpec

LimitRangeState = Absent | Configured[LimitRangeSpec]
RuntimeClassState = Absent | Configured[RuntimeClassSpec]
