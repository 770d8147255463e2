"""All experiments in the order of the paper."""

from collections.abc import Sequence
from difflib import get_close_matches

from pfn.errors import OptionError
from pfn.paper import section2, section3, section4, section5, section6, section7
from pfn.paper.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    section2.sums_of_solutions,
    section2.graph_of_the_example,
    section2.nmf_as_a_network,
    section3.transition_matrix,
    section3.fully_observed,
    section3.noisy,
    section3.superposition,
    section3.predict_from_first,
    section3.predict_from_fourth,
    section3.nondeterministic,
    section3.partly_observed,
    section3.one_solution,
    section3.sparse,
    section3.low_sparseness,
    section3.all_hidden,
    section3.learn_six,
    section3.learn_eight,
    section3.learn_sparse,
    section3.learn_mixture,
    section3.learn_noisy_mixture,
    section4.hierarchy_matrices,
    section4.hierarchy_accepts,
    section4.hierarchy,
    section4.hierarchy_sparse,
    section5.tracking_model,
    section5.tracking_clean,
    section5.tracking_noisy,
    section5.tracking_sparse,
    section5.tracking_released,
    section5.tracking_hidden_slice,
    section5.tracking_hidden_end,
    section6.spectrogram_model,
    section6.spectrogram_plain,
    section6.spectrogram_sparse,
    section7.language,
    section2.both_algorithms,
)


def named(names: Sequence[str]) -> tuple[Experiment, ...]:
    """Experiments by their names, in the order of the paper.

    Parameters
    ----------
    names
        Names of experiments; none: all.
    """
    known = [experiment.name for experiment in EXPERIMENTS]
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else "pfn reproduce --list names them all."
            raise OptionError(f"there is no experiment {name!r}. {hint}")
    return tuple(experiment for experiment in EXPERIMENTS if not names or experiment.name in names)
