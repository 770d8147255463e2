"""The networks of the paper, built with the public API only."""

from pfn.models.expressions import expression_network
from pfn.models.hierarchies import hierarchical_network
from pfn.models.spectrograms import spectrogram_hierarchy, top_down
from pfn.models.transitions import transition_network

__all__ = ["expression_network", "hierarchical_network", "spectrogram_hierarchy", "top_down", "transition_network"]
