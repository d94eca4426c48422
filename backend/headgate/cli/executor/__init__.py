"""Executors as programs: one that simulates pods, and those of Kubernetes, Ray and Slurm."""
