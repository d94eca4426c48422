"""What the controllers of admission checks report, of workloads and of themselves."""
