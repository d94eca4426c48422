"""What can be asked of LimitRanges and RuntimeClasses."""

from headgate.domain.configuring import Change, Create, FinishDeletion, RequestDeletion
from headgate.domain.limits.specs import LimitRangeSpec, RuntimeClassSpec

LimitRangeCommand = (
    Create[LimitRangeSpec] | Change[LimitRangeSpec] | RequestDeletion | FinishDeletion
)
RuntimeClassCommand = (
    Create[RuntimeClassSpec] | Change[RuntimeClassSpec] | RequestDeletion | FinishDeletion
)
