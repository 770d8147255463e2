"""The yardstick: Algorithm 1 of the paper as one would write it down with NumPy, equation by equation.

No views, no shared buffers, no sparse matrices, no reuse: stacked children and parents are built for every
update, every copy is kept, and means are taken over the copies.
"""

from collections.abc import Mapping

import numpy as np

import pfn


class PlainRun:
    """Plain sweeps for one sequence with known parameters and lag-free or lagged children."""

    def __init__(self, network: pfn.Network, data: Mapping[str, np.ndarray], epsilon: float, seed: int) -> None:
        self.network = network
        self.schedule = pfn.compile_network(network)
        self.equations = {e.name: e for e in network.factorizations}
        self.data = data
        self.epsilon = epsilon
        self.matrices = {
            p.name: np.asarray(getattr(p.value, "todense", lambda p=p: p.value)()) for p in network.parameters
        }
        length = next(iter(data.values())).shape[1]
        self.columns = network.columns(length)
        generator = np.random.default_rng(seed)
        self.values = {
            v.name: data[v.name].copy()
            if v.name in data
            else generator.random((v.size, len(self.columns.variables[v.name]))) * 1e-6
            for v in network.variables
        }

    def sweep(self) -> None:
        """One sweep of Algorithm 1."""
        self.copies: dict[str, list[tuple[slice, np.ndarray]]] = {}
        for step in self.schedule.up:
            if step.action == "right update":
                self.right_update(step.equations[0])
            elif step.action == "average parents":
                self.average(step.targets[0])
        for step in self.schedule.down:
            if step.action == "propagate":
                self.propagate(step.equations[0])
            else:
                self.average(step.targets[0])

    def right_update(self, name: str) -> None:
        """H ← H · Wᵀ((X+ε)/(WH+ε)) + ε over Wᵀ1 + ε."""
        equation, columns, e = self.equations[name], self.columns.equations[name], self.epsilon
        W = self.matrices[equation.terms[0].parameter.name]
        H = self.values[equation.parents[0].variable.name][:, :columns]
        X = np.vstack([self.values[c.variable.name][:, c.lag : c.lag + columns] for c in equation.children])
        Q = (X + e) / (W @ H + e)
        new = H * (W.T @ Q + e) / (W.T @ np.ones_like(X) + e)
        self.copies.setdefault(equation.parents[0].variable.name, []).append((slice(0, columns), new))

    def propagate(self, name: str) -> None:
        """The copies of the children become W H."""
        equation, columns = self.equations[name], self.columns.equations[name]
        H = self.values[equation.parents[0].variable.name][:, :columns]
        X = self.matrices[equation.terms[0].parameter.name] @ H
        for child, rows in zip(equation.children, equation.parts, strict=True):
            place = slice(child.lag, child.lag + columns)
            self.copies.setdefault(child.variable.name, []).append((place, X[rows]))

    def average(self, name: str) -> None:
        """A variable becomes the mean of its copies, observed entries again their observed values."""
        total, count = np.zeros_like(self.values[name]), np.zeros(self.values[name].shape[1])
        for place, copy in self.copies.pop(name):
            total[:, place] += copy
            count[place] += 1
        self.values[name] = self.data[name].copy() if name in self.data else total / count
