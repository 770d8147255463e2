"""One profile for all hypothesis tests."""

from hypothesis import settings

# The same draws in every run, and no time limit per draw: a busy machine is not a mistake.
settings.register_profile("pfn", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("pfn")
