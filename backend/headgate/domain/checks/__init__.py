"""AdmissionChecks: what others must agree to before a workload is admitted."""
