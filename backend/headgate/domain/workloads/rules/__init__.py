"""What a workload may ask for, when it is submitted and when it is changed."""
