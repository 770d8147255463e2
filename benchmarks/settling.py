"""Does a default inference end right, and does it say so where it does not?

Random coupled, partly hidden networks with known parameters: one to three views of the same hidden causes, stacked,
lagged, with a level or a machine above, in units from 1e-3 to 1e3; half of the data exact, half with noise. Right is a
divergence below 1e-6 of the data's own, or within 2 % of the best of long runs from several starts; of exact data, also
every value that exact inference calls unique within .02 of the largest of its variable. Silent: neither right nor
warned about. False alarm: right, and warned about.

    python -m benchmarks.settling [--cases 400] [--first 1000] [--long 6000] [--starts 3] [--jobs 1]
"""

import argparse
import warnings
from statistics import mean, median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

import pfn
from benchmarks.side_by_side import table
from pfn import t

RIGHT = 1e-6  # of the data's own divergence
NEAR = 1.02  # times the best divergence of long runs
OFF = 0.02  # of the largest value of a variable


class Question(NamedTuple):
    """A network with known parameters, and the observed part of one draw from it."""

    network: pfn.Network
    data: dict[str, np.ndarray]
    exact: bool


class Outcome(NamedTuple):
    """The end of one inference, and the measures of its errors."""

    exact: bool
    wrong: bool
    off: float  # the largest error of a unique value, in parts of the largest value of its variable
    warned: bool
    sweeps: int
    share: float  # of the data's own divergence
    rise: float  # of the divergence above its lowest
    seconds: float


def question(seed: int) -> Question:
    """A random network, and data drawn from it with parts hidden; odd seeds have noise."""
    rng = np.random.default_rng([seed, 7])
    slices, causes = int(rng.integers(5, 40)), int(rng.integers(2, 7))
    h, equations, truth = pfn.Variable("h", causes), [], dict[str, np.ndarray]()
    _explain(rng, h, slices, equations, truth)
    unit = 10 ** rng.uniform(-2, 2)
    truth = {name: unit * values for name, values in truth.items()}
    sizes = [int(n) for n in rng.integers(3, 12, rng.integers(1, 4))]
    views = [pfn.Variable(f"x{number}", size) for number, size in enumerate(sizes)]
    stacked = len(views) > 1 and rng.random() < 0.3
    for number, view in enumerate(views):
        lags = int(rng.integers(2, 4)) if rng.random() < 0.25 else 1
        matrices = [_matrix(rng, view.size, causes) * 10 ** rng.uniform(-1, 1) for _ in range(lags)]
        if stacked and number == 1:
            both = np.vstack([_matrix(rng, views[0].size, causes), matrices[0]])
            equations[-1] = pfn.Factorization(views[:2], pfn.Parameter("A01", both) @ h)
            clean = both @ truth["h"]
            truth["x0"], truth["x1"] = clean[: views[0].size], clean[views[0].size :]
            continue
        terms = [pfn.Parameter(f"A{number}_{k}", A) @ h[t - k] for k, A in enumerate(matrices)]
        past = [np.pad(truth["h"], ((0, 0), (k, 0)))[:, :slices] for k in range(lags)]
        truth[view.name] = sum(A @ H for A, H in zip(matrices, past, strict=True))
        equations.append(pfn.Factorization(view, sum(terms[1:], terms[0])))
    noise = 10 ** rng.uniform(-1.5, -0.5) if seed % 2 else 0.0
    data = {view.name: _seen(rng, _noisy(rng, truth[view.name], noise), most=0.7) for view in views}
    if rng.random() < 0.2:
        data["h"] = _seen(rng, truth["h"], least=0.7, most=0.95)
    return Question(pfn.Network(*equations), data, not noise)


def _explain(
    rng: np.random.Generator, child: pfn.Variable, slices: int, equations: list[Any], truth: dict[str, np.ndarray]
) -> None:
    """Draw what a variable is, and what explains it: nothing, a level (which may be explained, too), or a machine."""
    depth = len(equations)
    above = rng.choice(["nothing", "level", "machine"], p=[0.35, 0.35, 0.3] if depth < 2 else [0.5, 0, 0.5])
    if above == "level":
        parent = pfn.Variable(f"g{depth}", int(rng.integers(2, child.size + 2)))
        V = _matrix(rng, child.size, parent.size)
        equations.append(pfn.Factorization(child, pfn.Parameter(f"V{depth}", V) @ parent))
        _explain(rng, parent, slices, equations, truth)
        truth[child.name] = V @ truth[parent.name]
    elif above == "machine":
        truth[child.name], moves = _walks(rng, child.size, slices)
        m = pfn.Variable("m", moves.shape[1])
        equations.append(pfn.Factorization([child[t], child[t + 1]], pfn.Parameter("M", moves) @ m[t]))
    else:
        truth[child.name] = _causes(rng, child.size, slices)


def _matrix(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    W = rng.gamma(0.5, size=(rows, columns)) * (rng.random((rows, columns)) < rng.uniform(0.5, 1))
    W[rng.integers(rows, size=columns), np.arange(columns)] += rng.gamma(1.0, size=columns) + 0.1
    return W


def _causes(rng: np.random.Generator, size: int, slices: int) -> np.ndarray:
    return rng.gamma(rng.uniform(0.3, 1.5), size=(size, slices)) * (rng.random((size, slices)) < rng.uniform(0.4, 1))


def _walks(rng: np.random.Generator, states: int, slices: int) -> tuple[np.ndarray, np.ndarray]:
    """The sum of some walks through a random machine, and its moves as columns [from; to]."""
    arrows = {(s, (s + 1) % states) for s in range(states)}
    arrows |= {tuple(int(s) for s in rng.integers(states, size=2)) for _ in range(rng.integers(4))}
    arrows = sorted(arrows)
    moves = np.vstack([np.eye(states)[:, [a for a, _ in arrows]], np.eye(states)[:, [b for _, b in arrows]]])
    values = np.zeros((states, slices))
    for _ in range(rng.integers(1, 4)):
        state, strength = int(rng.integers(states)), rng.uniform(0.3, 2)
        for slot in range(slices):
            values[state, slot] += strength
            state = int(rng.choice([b for a, b in arrows if a == state]))
    return values, moves


def _noisy(rng: np.random.Generator, clean: np.ndarray, noise: float) -> np.ndarray:
    return clean * rng.gamma(noise**-2, noise**2, clean.shape) if noise else clean


def _seen(rng: np.random.Generator, values: np.ndarray, *, least: float = 0.0, most: float) -> np.ndarray:
    """Values with a part hidden: entries, slices, or one long stretch of slices; some are seen."""
    share, seen = rng.uniform(least, most), values.copy()
    slices = values.shape[1]
    kind = rng.choice(["entries", "slices", "stretch"])
    if kind == "entries":
        seen[rng.random(values.shape) < share] = np.nan
    elif kind == "slices":
        seen[:, rng.permutation(slices)[: int(share * slices)]] = np.nan
    else:
        start = int(rng.integers(slices))
        seen[:, start : start + int(share * slices)] = np.nan
    if np.isnan(seen).all():
        seen[:, 0] = values[:, 0]
    return seen


def own_divergence(data: dict[str, Any]) -> float:
    """The divergence of the data from the mean of each variable, over what is seen."""
    total = 0.0
    for array in data.values():
        known = array[~np.isnan(array)]
        positive = known[known > 0]
        total += float((positive * np.log(positive / known.mean())).sum()) if positive.size else 0.0
    return total


def outcome(seed: int, long: int, starts: int) -> Outcome:
    """One inference with the defaults, beside long runs and exact inference."""
    asked = question(seed)
    begin = process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = pfn.infer(asked.network, asked.data, progress=False)
    seconds = process_time() - begin
    warned = any("NotSettled" in type(w.message).__name__ for w in caught)
    own = own_divergence(asked.data)
    reached = float(found.history.divergence[-1])
    wrong = reached > RIGHT * own
    if wrong and not asked.exact:
        wrong = reached > NEAR * min(_long(asked, long, seed) for seed in range(starts))
    rise = reached / float(np.nanmin(found.history.divergence))
    return Outcome(asked.exact, wrong, _off(asked, found), warned, found.iterations, reached / own, rise, seconds)


def _long(asked: Question, sweeps: int, seed: int) -> float:
    method = pfn.Propagate(start="random", initial_scale=1.0) if seed else pfn.Propagate()
    options: dict[str, Any] = {"iterations": sweeps, "stall": None, "measure": 50, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = pfn.infer(asked.network, asked.data, method=method, seed=seed, **options)
    return float(result.history.divergence[-1])


def _off(asked: Question, found: pfn.Result) -> float:
    if not asked.exact:
        return 0.0
    try:
        exact = pfn.infer(asked.network, asked.data, method="exact", progress=False)
    except (pfn.NoExactSolution, pfn.NumericalError):  # by rounding: large and small numbers in one network
        return 0.0
    if exact.unique is None:  # no solution was found to be exact, so none is unique
        return 0.0
    worst = 0.0
    for variable in asked.network.variables:
        unique, values = exact.unique[variable], exact[variable]
        if unique.any() and np.nanmax(values) > 0:
            worst = max(worst, float(np.abs(found[variable] - values)[unique].max() / np.nanmax(values)))
    return worst


def summary(outcomes: list[Outcome]) -> str:
    """Numbers of wrong and off results, of those in silence, and of false alarms."""
    exact = [o for o in outcomes if o.exact]
    bad = [o.wrong or o.off > OFF for o in outcomes]
    right = sum(not b for b in bad)
    alarms = sum(o.warned and not b for o, b in zip(outcomes, bad, strict=True))
    sweeps = sorted(o.sweeps for o in outcomes)
    rows = {
        "wrong": (
            f"{sum(o.wrong for o in outcomes)} of {len(outcomes)}",
            str(sum(o.wrong and not o.warned for o in outcomes)),
        ),
        "off": (
            f"{sum(o.off > OFF for o in exact)} of {len(exact)}",
            str(sum(o.off > OFF and not o.warned for o in exact)),
        ),
        "false alarms": (f"{alarms} of {right}", ""),
        "sweeps, median / mean / 90 %": (
            f"{median(sweeps):g} / {mean(sweeps):.0f} / {sweeps[9 * len(sweeps) // 10]}",
            "",
        ),
        "seconds, mean": (f"{mean(o.seconds for o in outcomes):.3f}", ""),
    }
    return table(f"Inference with the defaults, {len(outcomes)} random networks", rows, ("all", "in silence"))


def main(chosen: argparse.Namespace) -> None:
    seeds = range(chosen.first, chosen.first + chosen.cases)
    found = Parallel(n_jobs=chosen.jobs)(delayed(outcome)(seed, chosen.long, chosen.starts) for seed in seeds)
    print(summary(found))
    for seed, one in zip(seeds, found, strict=True):
        if one.wrong or one.off > OFF or one.warned or (one.rise > 1.1 and one.share > RIGHT):
            kind = "wrong" if one.wrong else "off" if one.off > OFF else "right"
            more = ", warned" if one.warned else ""
            print(
                f"  {seed}: {kind}, {one.off:.3f} off, {one.share:.1e}, risen {one.rise:.2f}, {one.sweeps} sweeps{more}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--long", type=int, default=6000, help="sweeps of the long runs")
    parser.add_argument("--starts", type=int, default=3, help="of the long runs")
    parser.add_argument("--jobs", type=int, default=1)
    main(parser.parse_args())
