"""The pods of a workload: what each asks for, what it is given, and which are still needed."""
