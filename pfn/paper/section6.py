"""Section 6: a spectrogram as sequences of sequences of sequences."""

from dataclasses import replace

import numpy as np

import pfn
from pfn import plots
from pfn.audio import Spectrogram, spectrogram
from pfn.models import spectrogram_hierarchy, top_down
from pfn.paper.experiment import Check, Findings, Setting, Shown, experiment
from pfn.paper.measures import FloatArray
from pfn.paper.piano import RATE, passage

BINS, SHOWN = 512, 250  # of the spectrogram; the higher ones have little energy
SEQUENCE = {"x2": 3, "x3": 15, "x4": 63}  # slices that an activation reaches ahead; those at the end are cut off


def heard(setting: Setting) -> Spectrogram:
    """15 s of the recording given, or of the passage made by code, as 512 bins × 623 slices; quick: 5 s."""
    seconds = 5.0 if setting.quick else 15.0
    if setting.recording is not None:
        return spectrogram(setting.recording, duration=seconds, bins=BINS, peak=1.0)
    return spectrogram(passage(seconds), rate=RATE, bins=BINS, peak=1.0)


def decomposed(X: FloatArray, setting: Setting, sparseness: float) -> pfn.Result:
    """800 iterations, the second half of them with growing sparseness; quick: 200."""
    sweeps = 200 if setting.quick else 800
    ramp = pfn.ramp(0.0, sparseness, start=sweeps // 2, stop=sweeps)
    method = replace(pfn.PAPER, sparseness=ramp)
    return pfn.learn(spectrogram_hierarchy(BINS), {"x1": X}, method=method, iterations=sweeps, seed=setting.seed)


def relative_error(result: pfn.Result, X: FloatArray) -> float:
    """Of what the top level alone gives back, over the size of the spectrogram."""
    return float(np.linalg.norm(top_down(result, 4) - X) / np.linalg.norm(X))


def active(result: pfn.Result) -> list[float]:
    """The share of entries above a hundredth of the maximum in x2, x3, x4, without the slices at the end."""
    values = [result[name][:, :-cut] for name, cut in SEQUENCE.items()]
    return [float((value > 0.01 * value.max()).mean()) for value in values]


@experiment(
    "spectrogram",
    "6.2",
    "A recording as a hierarchy of sequences",
    """15 seconds of piano, 512 frequency bins and 622 slices; 50, 40 and 40 components, four children each, 1, 4 and
    16 slices apart, 800 iterations. The activations become progressively more sparse from x2 to x4 without sparse
    updates; propagating x4 alone downward gives the spectrogram back with an RMSE of 0.07 (in the paper's units of
    magnitude).""",
    network="spectrogram",
    uses=(heard, decomposed, relative_error, active),
)
def spectrogram_plain(setting: Setting) -> Findings:
    sound = heard(setting)
    X = sound.magnitude
    yield Shown(
        "Two levels, five slices.",
        plots.draw(spectrogram_hierarchy(BINS, (50,), (4,), (1,)), observed=["x1"], slices=5),
    )
    result = decomposed(X, setting, sparseness=0.0)
    yield Shown("The spectrogram and its activations.", plots.stack(result, ["x4", "x3", "x2", "x1"], power=0.5))
    yield Shown("The spectrogram.", plots.spectrogram(X[:SHOWN], rate=sound.rate))
    yield Shown("The same from x4 alone.", plots.spectrogram(top_down(result, 4)[:SHOWN], rate=sound.rate))
    error = relative_error(result, X)
    yield Check("relative error of the top-down reconstruction", "RMSE 0.07, its scale not given", error, error < 0.3)
    shares = active(result)
    text = ", ".join(f"{share:.1%}" for share in shares)
    yield Check("active entries of x2, x3, x4", "ever fewer", text, shares[0] > shares[1] > shares[2])


@experiment(
    "spectrogram-sparse",
    "6.2",
    "The same with growing sparseness",
    """Sparseness 0 for 400 iterations, then raised to 0.2 at 800: the results are more sparse, and the error is
    higher, 0.2 instead of 0.07: 2.9 times.""",
    network="spectrogram",
    uses=(heard, decomposed, relative_error, active),
)
def spectrogram_sparse(setting: Setting) -> Findings:
    X = heard(setting).magnitude
    plain, sparse = decomposed(X, setting, sparseness=0.0), decomposed(X, setting, sparseness=0.2)
    yield Shown("The spectrogram and its activations.", plots.stack(sparse, ["x4", "x3", "x2", "x1"], power=0.5))
    fewer = [after < before for before, after in zip(active(plain), active(sparse), strict=True)]
    text = ", ".join(f"{share:.1%}" for share in active(sparse))
    yield Check("active entries of x2, x3, x4", "fewer than without", text, all(fewer))
    ratio = relative_error(sparse, X) / relative_error(plain, X)
    yield Check("error over that without sparseness", "2.9", ratio, 1.2 < ratio < 6)
