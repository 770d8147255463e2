"""What people use today for plain and convolutive NMF with the Kullback-Leibler divergence, called alike.

Each takes the data, starting values and a number of iterations, and gives back W and H. A program that is not
installed is left out of the tables: pip install scikit-learn nimfa torchnmf; libnmfd (pip install --no-deps libnmfd
tqdm soundfile) asks for old versions that it does not need.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast
from warnings import catch_warnings, simplefilter

import numpy as np

Found = tuple[np.ndarray, np.ndarray]
Peer = Callable[[np.ndarray, np.ndarray, np.ndarray, int], Found]


def scikit_learn(X: np.ndarray, W: np.ndarray, H: np.ndarray, iterations: int) -> Found:
    """scikit-learn's NMF with solver="mu"; tol=0 also spares it its own look at the error."""
    NMF = import_module("sklearn.decomposition").NMF
    model = NMF(H.shape[0], init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=iterations, tol=0)
    with catch_warnings():
        simplefilter("ignore")  # that it has not converged
        left = model.fit_transform(X, W=W.copy(), H=H.copy())
    return left, model.components_


def torchnmf(X: np.ndarray, W: np.ndarray, H: np.ndarray, iterations: int) -> Found:
    """NMF of torchnmf, whose W and H are ours the other way round, transposed."""
    left, right = _torchnmf("NMF", np.ascontiguousarray(X.T), W, np.ascontiguousarray(H.T), iterations)
    return left, right.T


def _torchnmf(kind: str, X: np.ndarray, W: np.ndarray, H: np.ndarray, iterations: int) -> Found:
    torch, nmf = import_module("torch"), import_module("torchnmf.nmf")
    start = torch.tensor(W), torch.tensor(H)
    model = getattr(nmf, kind)(W=start[0], H=start[1])
    model.W.data, model.H.data = start  # it has made them single precision
    model.fit(torch.tensor(X), beta=1, tol=0, max_iter=iterations)
    return model.W.detach().numpy(), model.H.detach().numpy()


def nimfa(X: np.ndarray, W: np.ndarray, H: np.ndarray, iterations: int) -> Found:
    """Nimfa's Nmf with divergence updates, which looks at the error in every iteration."""
    options = {"update": "divergence", "objective": "div", "max_iter": iterations, "min_residuals": 0}
    fit = import_module("nimfa").Nmf(X, rank=H.shape[0], seed=None, W=W.copy(), H=H.copy(), **options)()
    return np.asarray(fit.basis()), np.asarray(fit.coef())


def torchnmf_convolutive(X: np.ndarray, W: np.ndarray, H: np.ndarray, iterations: int) -> Found:
    """NMFD of torchnmf; W is (bins, components, frames), its H has no columns whose sequences would be cut."""
    inner = np.ascontiguousarray(H[None, :, : H.shape[1] - W.shape[2] + 1])
    templates, found = _torchnmf("NMFD", X[None], W, inner, iterations)
    return templates, found[0]


def libnmfd(X: np.ndarray, W: np.ndarray, H: np.ndarray, iterations: int) -> Found:
    """Libnmfd's nmfd (float64 only), without its progress bar for notebooks."""
    module = cast("Any", import_module("libnmfd.core.nmfconv"))
    module.tnrange = lambda count, **_: range(count)
    templates = [W[:, r, :].astype(float) for r in range(W.shape[1])]
    *_, tensor = (found := module.nmfd(X, W.shape[1], None, iterations, W.shape[2], templates, H.astype(float)))
    return tensor, found[1]


def usable(peers: dict[str, tuple[str, Peer]], *problem: np.ndarray) -> dict[str, Peer]:
    """Those that are installed and run one iteration on X, W, H; says which do not."""
    found = {}
    for name, (package, peer) in peers.items():
        if find_spec(package) is None:
            print(f"{name}: not installed, left out")
            continue
        try:
            peer(*problem, 1)
        except AttributeError as error:  # what was removed from NumPy 2
            print(f"{name}: does not run here, left out: {error}")
        else:
            found[name] = peer
    return found


PLAIN = {
    'scikit-learn, solver="mu"': ("sklearn", scikit_learn),
    "torchnmf": ("torchnmf", torchnmf),
    "nimfa": ("nimfa", nimfa),
}
CONVOLUTIVE = {"torchnmf, NMFD": ("torchnmf", torchnmf_convolutive), "libnmfd": ("libnmfd", libnmfd)}
