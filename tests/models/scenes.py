"""Tracking scenes that several tests look at."""

from pfn.models import Target

# FINDINGS, "Misprints and gaps"; here everything counts from 0.
PAPER_TARGETS = (
    Target("A", 2, (3,) * 5, magnitude=1.0),
    Target("A", 3, (9,) * 5 + (10,) * 4, magnitude=0.8),
    Target("B", 15, (7,) * 4 + (6,) * 6, magnitude=0.6),
)
PAPER_LENGTH = 26
