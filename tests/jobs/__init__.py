"""Kinds of jobs as workloads."""
