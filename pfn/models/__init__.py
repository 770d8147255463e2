"""The networks of the paper, built with the public API only."""

from pfn.models.decomposition import tracks
from pfn.models.expressions import expression_network
from pfn.models.held_out import word_frequencies
from pfn.models.hierarchies import hierarchical_network
from pfn.models.language import language_chain, language_network
from pfn.models.language_learning import chain_data, chain_method, chain_model, chain_start, learn_chain
from pfn.models.language_model import LanguageModel, model_of_network
from pfn.models.predictions import Score, score_predictions
from pfn.models.scenes import Scene, simulate_targets
from pfn.models.shared_features import learn_shared_features
from pfn.models.spectrograms import spectrogram_hierarchy, top_down
from pfn.models.targets import Target, TargetKind
from pfn.models.text import Vocabulary, character_tokens, word_tokens
from pfn.models.tracking import tracking_network
from pfn.models.transitions import transition_network
from pfn.models.word_features import FeatureDiagnosis, diagnose_features

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
