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

# Frequencies of the spectrogram, and those shown: the higher ones have little energy.
BINS = 512
SHOWN = 250
LEVELS = ["x4", "x3", "x2", "x1"]
# Slices that an activation reaches ahead; those at the end are cut off.
SEQUENCE = {"x2": 3, "x3": 15, "x4": 63}
SELDOM: dict[pfn.Parameter | str, int] = {
    f"W{level}_{child}": 2 ** (level - 1) for level in (2, 3) for child in range(4)
}
ANOTHER_SOUND = "another sound, its largest magnitude scaled to 1; the paper does not say how its own was scaled"


def heard(setting: Setting) -> Spectrogram:
    """15 s of the recording given, or of the passage made by code, as 512 bins × 623 slices; quick: 5 s."""
    seconds = 5.0 if setting.quick else 15.0
    if setting.recording is not None:
        return spectrogram(setting.recording, rate=RATE, duration=seconds, bins=BINS, peak=1.0)
    return spectrogram(passage(seconds), rate=RATE, bins=BINS, peak=1.0)


def decomposed(X: FloatArray, setting: Setting, method: pfn.Propagate = pfn.PAPER) -> pfn.Result:
    """800 iterations; quick: 200."""
    sweeps = 200 if setting.quick else 800
    return pfn.learn(spectrogram_hierarchy(BINS), {"x1": X}, method=method, iterations=sweeps, seed=setting.seed)


def relative_error(result: pfn.Result, X: FloatArray) -> float:
    """The error of what the top level alone gives back, over the size of the spectrogram."""
    return float(np.linalg.norm(top_down(result, 4) - X) / np.linalg.norm(X))


def active(result: pfn.Result) -> list[float]:
    """The share of entries above a hundredth of the maximum in x2, x3, x4, without the slices at the end."""
    values = [result[name][:, :-cut] for name, cut in SEQUENCE.items()]
    return [float((value > 0.01 * value.max()).mean()) for value in values]


@experiment("spectrogram-model", "6.1", "Networks of sequences")
def spectrogram_model(_setting: Setting) -> Findings:
    """A network of two levels, in which x1 at t has the parents x2 at t and t − 1, and one of three levels, in which a
    single nonzero value in level 3 causes x2 at t and t + 2, and four consecutive slices of x1, to be nonzero.
    """
    two, three = spectrogram_hierarchy(6, (4,), (2,), (1,)), spectrogram_hierarchy(6, (4, 3), (2, 2), (1, 2))
    yield Shown("Two levels, two children, five slices.", plots.draw(two, observed=["x1"], slices=5))
    yield Shown("Three levels, two children each, five slices.", plots.draw(three, observed=["x1"], slices=5))
    result = pfn.learn(three, {"x1": np.ones((6, 8))}, iterations=1, progress=False)
    x3 = np.zeros((3, 8))
    x3[0, 1] = 1
    x2 = sum(result[f"W2_{child}"] @ np.roll(x3, 2 * child, axis=1) for child in range(2))
    x1 = sum(result[f"W1_{child}"] @ np.roll(x2, child, axis=1) for child in range(2))
    for name, values, wanted in (("x2", x2, "2, 4"), ("x1", x1, "2, 3, 4, 5")):
        text = ", ".join(str(place + 1) for place in np.flatnonzero(values.any(axis=0)))
        yield Check(f"slices of {name} that x3 in slice 2 makes nonzero", wanted, text, wanted=wanted)


@experiment(
    "spectrogram",
    "6.2",
    "A recording as a hierarchy of sequences",
    network="spectrogram",
    uses=(heard, decomposed, relative_error, active),
)
def spectrogram_plain(setting: Setting) -> Findings:
    """15 seconds of piano, 512 frequency bins and 622 slices; 50, 40 and 40 components, four children each, 1, 4 and
    16 slices apart, 800 iterations. The activations become progressively more sparse from x2 to x4 without sparse
    updates; propagating x4 alone downward gives the spectrogram back with an RMSE of 0.07. Updating the matrices near
    the data more often can sometimes improve convergence.
    """
    sound = heard(setting)
    X = sound.magnitude
    result, seldom = decomposed(X, setting), decomposed(X, setting, replace(pfn.PAPER, learn_every=SELDOM))
    yield Shown("The spectrogram and its activations.", plots.stack(result, LEVELS, power=0.5, upward=["x1"]))
    yield Shown("The spectrogram.", plots.spectrogram(X[:SHOWN], rate=sound.rate))
    yield Shown("The same from x4 alone.", plots.spectrogram(top_down(result, 4)[:SHOWN], rate=sound.rate))
    error, most = relative_error(result, X), 0.35 if setting.quick else 0.2
    yield Check(
        "relative error of the top-down reconstruction", "RMSE 0.07", error, most=most, difference=ANOTHER_SOUND
    )
    shares = active(result)
    text = ", ".join(f"{share:.1%}" for share in shares)
    yield Check("active entries of x2, x3, x4", "ever fewer", text, so=shares[0] > shares[1] > shares[2])
    ratio, reason = relative_error(seldom, X) / error, "not here, where each is updated in every iteration"
    what = "that error with W2 updated half as often, W3 a quarter, over it"
    reason, most = "" if ratio < 1 else reason, 3 if setting.quick else 1.6
    yield Check(what, "can sometimes be less", ratio, least=0.5, most=most, difference=reason)


@experiment(
    "spectrogram-sparse",
    "6.2",
    "The same with growing sparseness",
    network="spectrogram",
    uses=(heard, decomposed, relative_error, active),
)
def spectrogram_sparse(setting: Setting) -> Findings:
    """Sparseness 0 for 400 iterations, then raised to 0.2 at 800: the results are slightly more sparse, and the error
    is higher, 0.2 instead of 0.07.
    """
    sound = heard(setting)
    X, sweeps = sound.magnitude, 200 if setting.quick else 800
    growing = replace(pfn.PAPER, sparseness=pfn.ramp(0.0, 0.2, start=sweeps // 2, stop=sweeps))
    plain, sparse = decomposed(X, setting), decomposed(X, setting, growing)
    yield Shown("The spectrogram and its activations.", plots.stack(sparse, LEVELS, power=0.5, upward=["x1"]))
    yield Shown("The spectrogram.", plots.spectrogram(X[:SHOWN], rate=sound.rate))
    yield Shown("The same from x4 alone.", plots.spectrogram(top_down(sparse, 4)[:SHOWN], rate=sound.rate))
    fewer = [after < before for before, after in zip(active(plain), active(sparse), strict=True)]
    text = ", ".join(f"{share:.1%}" for share in active(sparse))
    yield Check("active entries of x2, x3, x4", "fewer than without", text, so=all(fewer))
    ratio = relative_error(sparse, X) / relative_error(plain, X)
    least, most = (1.2, 6) if setting.quick else (2, 5)
    yield Check("error over that without sparseness", "0.2 / 0.07 = 2.9", ratio, least=least, most=most)
