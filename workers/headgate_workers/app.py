"""The Celery application: `celery -A headgate_workers.app worker -P solo -Q admission,upkeep`."""

import warnings

from celery.exceptions import CPendingDeprecationWarning, SecurityWarning

from headgate.bootstrap import celery_application
from headgate.settings import from_environment
from headgate_workers.steps import AdmissionStep, BacktestStep, UpkeepStep

# Celery warns of root because of pickled messages; here only JSON is accepted.
warnings.filterwarnings("ignore", category=SecurityWarning)
# It announces a default that does not matter to messages which carry no facts.
warnings.filterwarnings("ignore", category=CPendingDeprecationWarning)

app = celery_application(from_environment())
app.conf.imports = ("headgate_workers.tasks.admission",)
app.steps["worker"].update((AdmissionStep, UpkeepStep, BacktestStep))
