"""The networks of the paper, built with the public API only."""
