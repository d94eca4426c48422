"""The state of an AdmissionCheck."""

from headgate.domain.checks.specs import AdmissionCheckSpec
from headgate.domain.configured import Absent, Configured

AdmissionCheckState = Absent | Configured[AdmissionCheckSpec]
