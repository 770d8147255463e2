"""The result of a run: values by object or by name, how good, how it went, why it ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from pfn.errors import DataError, FileError
from pfn.files import (
    matrix_arrays,
    matrix_from_arrays,
    network_arrays,
    network_from_json,
    network_to_json,
    read_file,
    write_file,
)
from pfn.network import Factorization, Network, Parameter, Shift, Variable
from pfn.network.tables import html_table, text_table
from pfn.solve.history import History
from pfn.solve.learned import not_kept
from pfn.solve.statistics import Memory, memory_from

KIND = "result"


class Unique(Mapping[str, Any]):
    """By variable or its name, a boolean array: true where every exact solution has the same value."""

    def __init__(self, network: Network, arrays: Mapping[str, Any]) -> None:
        self._network, self._arrays = network, dict(arrays)

    def __getitem__(self, item: Variable | str) -> Any:
        return self._arrays[self._network.variable(item).name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        shares = (f"{name}: {_share(arrays)}" for name, arrays in self._arrays.items())
        return f"Unique({', '.join(shares)})"


def _share(arrays: Any) -> str:
    pieces = arrays if isinstance(arrays, list) else [arrays]
    counted, total = sum(int(piece.sum()) for piece in pieces), sum(piece.size for piece in pieces)
    return "all" if counted == total else f"{counted} of {total}"


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """What `infer` and `learn` return.

    - `result[x]`, `result["x"]`: the values of a variable or parameter, a list of arrays for lists of sequences;
    - `rmse`: by equation name, the root mean square of children − W @ parents after the last sweep, without hidden
      entries that occur once, which are W @ parents; NaN where no entry counts;
    - `history`: the same along the sweeps; `stop`: why the run ended; `iterations`: sweeps done;
    - `squared_error`: of the same entries, summed over all equations; `interrupted`: whether Ctrl-C ended the run;
    - `settings`: the options that the run was made with, as text;
    - `memory`: after learning by batches, what `pfn.learn(…, partial=result)` goes on from; then values of variables
      are not kept, `rmse` is over the last epoch, and the history has one entry a batch;
    - `unique[x]`: after exact inference, where no other exact solution has another value of x; else None.
    """

    network: Network
    values: Mapping[str, Any]
    rmse: Mapping[str, float]
    squared_error: float
    history: History
    stop: str
    iterations: int
    interrupted: bool
    settings: Mapping[str, str]
    unique: "Unique | None" = None
    memory: Memory | None = None

    def __getitem__(self, item: Variable | Parameter | str) -> Any:
        found = self.network[item]
        if isinstance(found, Factorization):
            raise DataError(f"{found.name} is an equation and has no value; its error is result.rmse[{found.name!r}].")
        if found.name not in self.values:
            raise not_kept(self.network, found.name)
        return self.values[found.name]

    @property
    def _kept(self) -> list[Variable]:
        """The variables that have values."""
        return [variable for variable in self.network.variables if variable.name in self.values]

    def save(self, path: str | Path) -> None:
        """Write everything into one file that `pfn.load` reads back exactly."""
        arrays = network_arrays(self.network)
        lists = [v.name for v in self._kept if isinstance(self.values[v.name], list)]
        for variable in self._kept:
            pieces = self.values[variable.name]
            for number, piece in enumerate(pieces if variable.name in lists else [pieces]):
                arrays |= matrix_arrays(f"value/{variable.name}/{number}", piece)
            if self.unique is not None:
                certain = self.unique[variable]
                for number, piece in enumerate(certain if variable.name in lists else [certain]):
                    arrays |= matrix_arrays(f"unique/{variable.name}/{number}", piece)
        for parameter in self.network.parameters:
            if self.values[parameter.name] is not parameter.value:
                arrays |= matrix_arrays(f"learned/{parameter.name}", self.values[parameter.name])
        if self.memory is not None:
            arrays |= self.memory.arrays()
        arrays["history/iterations"] = self.history.iterations
        arrays["history/divergence"] = self.history.divergence
        arrays["history/rmse"] = np.array([self.history[e.name] for e in self.network.factorizations])
        content = {
            "network": network_to_json(self.network),
            "sequences": {name: len(self.values[name]) for name in lists},
            "rmse": dict(self.rmse),
            "squared_error": self.squared_error,
            "stop": self.stop,
            "iterations": self.iterations,
            "interrupted": self.interrupted,
            "settings": dict(self.settings),
        }
        write_file(Path(path), KIND, arrays, content)

    def __repr__(self) -> str:
        lines = [f"Result: {self._ending()}"]
        equations = [(f"{e.name}: {e}", f"{self.rmse[e.name]:.3g}") for e in self.network.factorizations]
        tables = [*text_table(("equation", "RMSE"), equations), *text_table(("value", "shape", ""), self._sizes())]
        lines += [f"  {line}" for line in tables]
        return "\n".join(lines)

    def _ending(self) -> str:
        return f"{self.stop} ({self.iterations} sweeps)" if self.iterations else self.stop

    def _sizes(self) -> list[tuple[str, str, str]]:
        rows = [(v.name, _shape(self.values[v.name]), "variable") for v in self._kept]
        words = {True: "learned", False: "known"}
        return rows + [
            (p.name, _shape(self.values[p.name]), words[p.learn])
            for p in self.network.parameters
            if not isinstance(p, Shift)
        ]

    def _repr_html_(self) -> str:
        equations = [(f"{e.name}: {e}", f"{self.rmse[e.name]:.3g}") for e in self.network.factorizations]
        return (
            f"<p><b>Result</b>: {escape(self._ending())}</p>"
            f"{html_table(('equation', 'RMSE'), equations)}{html_table(('value', 'shape', ''), self._sizes())}"
        )


def load(path: str | Path) -> Result:
    """Read a result that was saved with `result.save(path)`."""
    arrays, content = read_file(Path(path), KIND)
    try:
        return _result(arrays, content, Path(path))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise FileError(f"{path}: the file is damaged ({error!r}). Write it again.") from error


def _result(arrays: Mapping[str, np.ndarray], content: Mapping[str, Any], path: Path) -> Result:
    network = network_from_json(content["network"], arrays, path)
    values: dict[str, Any] = {}
    unique: dict[str, Any] = {}
    memory = memory_from(arrays)
    for variable in network.variables if memory is None else ():
        count = content["sequences"].get(variable.name)
        pieces = [matrix_from_arrays(f"value/{variable.name}/{number}", arrays) for number in range(count or 1)]
        values[variable.name] = pieces[0] if count is None else pieces
        if f"unique/{variable.name}/0" in arrays:
            certain = [matrix_from_arrays(f"unique/{variable.name}/{number}", arrays) for number in range(count or 1)]
            unique[variable.name] = certain[0] if count is None else certain
    for parameter in network.parameters:
        kept = any(key in arrays for key in (f"learned/{parameter.name}", f"learned/{parameter.name}\ndata"))
        values[parameter.name] = matrix_from_arrays(f"learned/{parameter.name}", arrays) if kept else parameter.value
    _check_shapes(network, values)
    if memory is not None:
        memory.check({p.name: values[p.name] for p in network.parameters if p.learn})
    rmse = dict(zip((e.name for e in network.factorizations), arrays["history/rmse"], strict=True))
    return Result(
        network=network,
        values=values,
        rmse=content["rmse"],
        squared_error=content["squared_error"],
        history=History(arrays["history/iterations"], rmse, arrays["history/divergence"]),
        stop=content["stop"],
        iterations=content["iterations"],
        interrupted=content["interrupted"],
        settings=content["settings"],
        unique=Unique(network, unique) if unique else None,
        memory=memory,
    )


def _check_shapes(network: Network, values: Mapping[str, Any]) -> None:
    """Refuse values that are not those of the network."""
    for variable in network.variables:
        pieces = values.get(variable.name, [])
        for piece in pieces if isinstance(pieces, list) else [pieces]:
            if piece.ndim != 2 or piece.shape[0] != variable.size:
                raise ValueError(f"{variable.name} has the shape {piece.shape}")
    for parameter in network.parameters:
        if values[parameter.name].shape != parameter.shape:
            raise ValueError(f"{parameter.name} has the shape {values[parameter.name].shape}")


def _shape(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} sequences of {value[0].shape[0]} rows" if value else "no sequence"
    return " × ".join(map(str, value.shape)) + (" sparse" if sp.issparse(value) else "")
