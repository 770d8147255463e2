"""Benchmarks: scripts named after their question, each printing ratios measured in one run."""
