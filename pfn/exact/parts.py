"""The parts that an explanation is made of: of a scene, the single tracks.

Non-negative solutions of the equations are superpositions of solutions that are no superpositions themselves, the
extreme rays of the cone of all. Of those, few make up a sparse explanation. They are looked for one at a time, in what
the others leave unexplained, and chosen by what they explain for their price.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from pfn.exact.inference import Asked
from pfn.exact.linear import InfeasibleError, Program
from pfn.exact.noisy import Question
from pfn.exact.reduction import only_zero
from pfn.exact.selection import GAIN, Choice, Pool

WIDTHS = (0.95, 0.8, 0.65, 0.5, 0.4, 0.3)
"""What goes through all of a part, of the largest value explained: the widest parts are taken first, the thin ones are
left where they are, since they are many, and mixtures."""

TIES = 0.01
"""Every entry costs a random share, up to this, of the price: of several ways to say the same, one is chosen."""

THIN = 0.01
"""The same where everything is wanted."""

SHUFFLES = 3
"""So many times what was chosen is taken apart in another way."""

WEAKEST, FINER = 2.0, 2.0
"""Parts are looked for down to so many standard deviations of the noise, each magnitude so many times the next."""

CERTAIN = 100.0
"""Exact observations count so many times as much as noisy ones while parts are chosen."""

ZERO, SAME = 1e-9, 1e-6
"""Less than the first is zero, parts closer than the second are the same (the largest value that they explain is 1)."""


Numbers: TypeAlias = tuple[int, ...]
"""Parts, by their place in the list of all that were found."""


class Price(NamedTuple):
    """What every penalised entry of a part has to explain, and the standard deviation of the noise."""

    entry: float
    level: float


class Piece:
    """Equations that hang together, what they have to explain, and the parts that were found for that."""

    def __init__(self, question: Question, y: np.ndarray, price: Price, asked: Asked) -> None:
        noise = question.noise
        values = np.where(np.isnan(noise.observed), noise.known, noise.observed)
        self.parts: list[np.ndarray] = []
        self._matrix, self._price, self._asked = question.matrix, price, asked
        self._seen = np.flatnonzero(~np.isnan(values))
        self._values = values[self._seen]
        self._importance = np.where(np.isnan(noise.observed), CERTAIN, 1.0)[self._seen]
        self._penalised = noise.weights > 0
        self._slices = np.unique(question.slices, return_inverse=True)[1]
        self._pool = Pool(self._values, self._importance)
        self._unit = self._penalised_by_value(y)

    def _penalised_by_value(self, y: np.ndarray) -> float:
        """How much penalised activity goes with a value of 1 in this answer, in most slices of time."""
        largest = np.zeros((2, int(self._slices.max()) + 1))
        np.maximum.at(largest[0], self._slices[self._penalised], y[self._penalised])
        np.maximum.at(largest[1], self._slices[self._seen], y[self._seen])
        penalised, values = largest[:, (largest > ZERO).all(axis=0)]
        return float(np.median(penalised / values)) if values.size else 1.0

    def explained(self) -> list[np.ndarray]:
        """The parts that explain the values best for their price."""
        least = GAIN * self._price.entry
        best = self._pool.best([self._look(self._values)])
        while True:
            for others in (self._other_ones, self._other_twos, self._other_groups):
                better = self._pool.best([best.parts, *others(best)])
                if better.cost < best.cost - least:
                    break
            else:
                return [self.parts[number] for number in best.parts]
            best = better

    def _other_ones(self, choice: Choice) -> Iterator[Numbers]:
        """More parts for what is left, another in place of every part, and the same superposition of other parts."""
        yield choice.parts + self._look(self._left(choice, ()))
        for number, magnitude in zip(choice.parts, choice.magnitudes.tolist(), strict=True):
            yield self._in_place(choice, (number,), magnitude, 1)
        if choice.parts:
            y = sum(m * self.parts[number] for number, m in zip(choice.parts, choice.magnitudes, strict=True))
            for _ in range(SHUFFLES):
                yield self._take_apart(np.asarray(y), (THIN,))

    def _other_twos(self, choice: Choice) -> Iterator[Numbers]:
        """Two parts in place of one, and of any two that have something in common."""
        pairs = [pair for pair in combinations(choice.parts, 2) if self._meet(*pair)]
        magnitudes = dict(zip(choice.parts, choice.magnitudes.tolist(), strict=True))
        for group in [*zip(choice.parts, strict=True), *pairs]:
            for number in group:
                yield self._in_place(choice, group, magnitudes[number], 2)

    def _other_groups(self, choice: Choice) -> Iterator[Numbers]:
        """Begin anew with a part and all that have something in common with it."""
        groups = {tuple(other for other in choice.parts if self._meet(number, other)) for number in choice.parts}
        for group in sorted(groups):
            others = tuple(number for number in choice.parts if number not in group)
            left = self._left(choice, group)
            for at_once in (1, 2):
                yield others + self._look(left, at_once)

    def _in_place(self, choice: Choice, group: Numbers, magnitude: float, at_once: int) -> Numbers:
        """The choice with others in place of a group of parts."""
        others = tuple(number for number in choice.parts if number not in group)
        return others + self._seek(self._left(choice, group), magnitude, at_once)

    def _meet(self, one: int, other: int) -> bool:
        both = (self.parts[one] > 0) & (self.parts[other] > 0)
        return bool(both[self._penalised].any() or both[self._seen].any())

    def _left(self, choice: Choice, without: Numbers) -> np.ndarray:
        """What the chosen parts leave of the values, without some of them."""
        left = self._values.copy()
        for number, magnitude in zip(choice.parts, choice.magnitudes, strict=True):
            if number not in without:
                left -= magnitude * self.parts[number][self._seen]
        return left

    def _look(self, values: np.ndarray, at_once: int = 1) -> Numbers:
        """Parts of every magnitude."""
        found: Numbers = ()
        magnitude = float(values.max(initial=0.0))
        while magnitude > WEAKEST * self._price.level:
            found += self._seek(values, magnitude, at_once)
            magnitude /= FINER
        return found

    def _seek(self, values: np.ndarray, magnitude: float, at_once: int) -> Numbers:
        """Parts of this magnitude that lower the squared errors most, up to so many at any time.

        Explaining a value v by r ≤ 1 times the magnitude m lowers its squared error by at least m r (2v − m).
        """
        costs = TIES * self._price.entry * self._asked.rng.random(self._matrix.shape[1])
        costs[self._seen] -= self._importance * magnitude * (2.0 * values - magnitude)
        costs[self._penalised] += self._price.entry / self._unit
        program = self._limited(at_once)
        slack = np.zeros(program.matrix.shape[1] - costs.size)
        best = program.minimum(np.append(costs, slack), self._asked.deadline)
        return self._take_apart(best[: costs.size], WIDTHS)

    def _limited(self, at_once: int) -> Program:
        """Solutions with values up to 1, and the penalised activity of so many parts in any slice of time."""
        penalised = np.flatnonzero(self._penalised)
        times, where = np.unique(self._slices[penalised], return_inverse=True)
        rows, entries = self._matrix.shape
        sums = sp.csr_array((np.ones(penalised.size), (where, penalised)), (times.size, entries))
        slack = sp.eye_array(times.size, format="csr")
        matrix = sp.csr_array(sp.block_array([[self._matrix, None], [sums, slack]], format="csr"))
        upper = np.full(entries + times.size, np.inf)
        upper[self._seen] = 1.0
        return Program(matrix, np.repeat([0.0, at_once * self._unit], [rows, times.size]), self._asked.tight, upper)

    def _take_apart(self, y: np.ndarray, widths: tuple[float, ...]) -> Numbers:
        """Find parts of a solution: those that are wide everywhere, then those with wide penalised entries."""
        y = y / (float(y[self._seen].max(initial=0.0)) or 1.0)
        scale = np.where(self._penalised, self._unit, 1.0)
        found: Numbers = ()
        for least in (scale, np.where(self._penalised, scale, 0.0)):
            for width in widths:
                for part in self._through(y, width * least):
                    y -= part * np.min(y[part > 0] / part[part > 0])
                    found += self._number(part)
        return found

    def _through(self, y: np.ndarray, least: np.ndarray) -> Iterator[np.ndarray]:
        """Parts whose entries are all at least so active in y, which the caller takes them out of."""
        while True:
            active = np.flatnonzero(~only_zero(self._matrix, (y < least) | (y <= SAME)))
            if not active.size:
                return
            equations = self._matrix[:, active]
            some = sp.csr_array(np.ones((1, active.size)))
            matrix = sp.csr_array(sp.vstack([some, equations[np.diff(equations.indptr) > 0]], format="csr"))
            program = Program(matrix, active.size * np.eye(1, matrix.shape[0])[0], self._asked.tight)
            try:
                ray = program.minimum(self._asked.rng.exponential(size=active.size), self._asked.deadline)
            except InfeasibleError:
                return
            part = np.zeros(y.shape)
            part[active] = np.where(ray > ZERO * active.size, ray, 0.0)
            yield part

    def _number(self, part: np.ndarray) -> Numbers:
        """The number of a part, which is a new one or known; none if it explains nothing."""
        size = float(part[self._seen].max(initial=0.0))
        if size <= 0:
            return ()
        part = part / size
        for number, other in enumerate(self.parts):
            if np.abs(part - other).max() < SAME:
                return (number,)
        self.parts.append(part)
        self._pool.add(part[self._seen], self._price.entry * max(int(np.count_nonzero(part[self._penalised])), 1))
        return (len(self.parts) - 1,)
