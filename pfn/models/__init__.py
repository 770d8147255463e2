"""The networks of the paper, built with the public API only."""

from pfn.models.language.learning import (
    chain_data,
    chain_method,
    chain_model,
    chain_start,
    learn_chain,
    learn_shared_features,
    word_frequencies,
)
from pfn.models.language.model import (
    FeatureDiagnosis,
    LanguageModel,
    Score,
    diagnose_features,
    model_of_network,
    score_predictions,
)
from pfn.models.language.text import Vocabulary, character_tokens, word_tokens
from pfn.models.language.word_networks import language_chain, language_network
from pfn.models.scenes import Scene, simulate_targets
from pfn.models.sound_hierarchy import spectrogram_hierarchy, top_down
from pfn.models.target_tracks import tracks
from pfn.models.targets import Target, TargetKind
from pfn.models.tracking import tracking_network
from pfn.models.transitions import expression_network, hierarchical_network, transition_network

__all__ = [
    "FeatureDiagnosis",
    "LanguageModel",
    "Scene",
    "Score",
    "Target",
    "TargetKind",
    "Vocabulary",
    "chain_data",
    "chain_method",
    "chain_model",
    "chain_start",
    "character_tokens",
    "diagnose_features",
    "expression_network",
    "hierarchical_network",
    "language_chain",
    "language_network",
    "learn_chain",
    "learn_shared_features",
    "model_of_network",
    "score_predictions",
    "simulate_targets",
    "spectrogram_hierarchy",
    "top_down",
    "tracking_network",
    "tracks",
    "transition_network",
    "word_frequencies",
    "word_tokens",
]
