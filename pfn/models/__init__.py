"""The networks of the paper, built with the public API only."""

from pfn.models.decomposition import tracks
from pfn.models.expressions import expression_network
from pfn.models.hierarchies import hierarchical_network
from pfn.models.scenes import Scene, simulate_targets
from pfn.models.spectrograms import spectrogram_hierarchy, top_down
from pfn.models.targets import Target, TargetKind
from pfn.models.tracking import tracking_network
from pfn.models.transitions import transition_network

__all__ = [
    "Scene",
    "Target",
    "TargetKind",
    "expression_network",
    "hierarchical_network",
    "simulate_targets",
    "spectrogram_hierarchy",
    "top_down",
    "tracking_network",
    "tracks",
    "transition_network",
]
