"""Learning batch by batch: every batch is learned from beside what the batches before it left behind."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from pfn.engines import largest_error
from pfn.errors import DataError, FileError
from pfn.files import matrix_arrays, matrix_from_arrays
from pfn.solve.batches import Batches
from pfn.solve.checkpoints import Checkpoint
from pfn.solve.data import Observations
from pfn.solve.history import Pooled, Recorder
from pfn.solve.learned import Learned
from pfn.solve.progress import Bar
from pfn.solve.request import Answer, Method, Request
from pfn.solve.result import Result
from pfn.solve.runaways import Runaways
from pfn.solve.scales import observed_components
from pfn.solve.sequences import Sequences, as_sequences
from pfn.solve.statistics import Memory, memory_from

SPARE = 8
"""One part in so many is added to the columns of a batch: lengths of batches differ about that much."""

MOST_ROOM = 1 << 31
"""Columns that a batch has at most: compiled programs count them in 32 bits."""

NOTHING = Observations({}, (), listed=True)


def learn_in_batches(template: Request, method: Method, data: Any, options: Batches, partial: Result | None) -> Answer:
    """Learn from data in any of their forms; `template` is the question without them."""
    run = Online(template, method, as_sequences(template.network, data, template.dtype), options)
    if partial is not None and partial.memory is not None:
        run.continue_with(partial.memory, {name: partial[name] for name in template.learned})
    return run.run()


class Online:
    """A run over batches; `template` is the question without data."""

    def __init__(self, template: Request, method: Method, sequences: Sequences, options: Batches) -> None:
        self._template, self._method, self._options = template, method, options
        self._sequences = sequences
        self._network = template.network
        self._checkpoint = Checkpoint(template, (method, options, len(sequences)))  # their order depends on it
        names = [equation.name for equation in self._network.factorizations]
        self._recorder, self._epoch = Recorder(names), Pooled(names)
        self._learned = [p.name for p in self._network.parameters if p.name in template.learned]
        self._memory, self._runaways = Memory(), Runaways()
        self._parameters: dict[str, Any] = dict(template.initial)  # of those that are learned
        self._number, self._place, self._sweeps = 0, 0, 0  # the epoch, batches done in it, sweeps done
        self._room = 0  # columns that every batch so far fits in

    def continue_with(self, memory: Memory, parameters: Mapping[str, Any]) -> None:
        """Go on where an earlier run ended."""
        self._memory, self._parameters = memory, dict(parameters)

    def run(self) -> Answer:
        """Batch after batch, and what there is in the end."""
        template, options = self._template, self._options
        self._sequences.check_epochs(options.epochs)
        if template.resume is not None:
            self._load(self._checkpoint.read())
        total = -(-len(self._sequences) // options.size) * options.epochs
        self._shown = template.bar.begin("batches", total or None, self._memory.batches if template.resume else 0)
        stop = None
        while stop is None and self._number < options.epochs:
            stop = self._one_epoch()
        template.bar.end(self._shown)
        if template.checkpoint is not None and self._memory.batches:
            self._checkpoint.write(self._state())
        return self._answer(stop or _all_done(self._recorder))

    def _one_epoch(self) -> str | None:
        """Why the run ended in this epoch, or None."""
        if self._place == 0:
            self._epoch = Pooled(self._epoch.names)
        seeds = np.random.SeedSequence(self._template.seed, spawn_key=(0, self._number))
        batches = self._sequences.batches(self._options, np.random.default_rng(seeds), self._place)
        for observations in batches:
            stop = self._learn(observations)
            del observations  # before the next ones are read
            if stop is not None:
                return stop
        if self._place == 0:
            raise DataError("the data: expected at least one sequence, found none.")
        self._number, self._place = self._number + 1, 0
        return None

    def _learn(self, observations: Observations) -> str | None:
        """One batch; why the run ends with it, or None."""
        share = self._options.share(self._memory.batches)
        answer = self._answer_to(observations, share)
        if not answer.interrupted or not self._memory.batches:
            self._parameters = {name: answer.values[name] for name in self._learned}
        if answer.interrupted:
            return f"interrupted by the user in batch {self._memory.batches}, which is left out"
        self._runaways.look_at(observations, answer.values, among=f" of batch {self._memory.batches}")
        observed = observed_components(self._network, observations)
        self._memory = self._memory.with_batch(answer.statistics, share, observed)
        self._sweeps += answer.iterations
        self._place += 1
        self._note(answer)
        if self._checkpoint.due(self._memory.batches, last=False):
            self._checkpoint.write(self._state())
        return self._asked_to_stop()

    def _answer_to(self, observations: Observations, share: float) -> Answer:
        """Hidden values that settle beside the parameters of before, then sweeps of learning."""
        options, number = self._options, self._memory.batches
        self._make_room(sum(observations.lengths))
        request = replace(
            self._template,
            observations=observations,
            initial=self._parameters,
            restart=number,
            iterations=options.sweeps if number else options.first,
            past=self._memory.past(share),
            keep_statistics=True,
            room=self._room if number else 0,  # the first is learned as if there were no other
            bar=Bar(),
            callback=None,
            checkpoint=None,
            resume=None,
        )
        if not number:
            return self._method.run(request)
        later = _without_start(self._method)
        if options.settle:
            rest = replace(request, learned=frozenset(), past={}, iterations=options.settle, keep_statistics=False)
            settled = later.run(rest)
            hidden = [v.name for v in self._network.variables if observations.hides(v.name)]
            request = replace(request, initial=self._parameters | {name: settled.values[name] for name in hidden})
            self._sweeps += settled.iterations
        return later.run(request)

    def _make_room(self, columns: int) -> None:
        """A little more than the batch needs, so that later ones fit in and the programs compiled for it serve them."""
        if columns > self._room:
            self._room = columns + columns // SPARE

    def _note(self, answer: Answer) -> None:
        self._epoch.add(answer.rmse, answer.entries)
        self._recorder.add(self._sweeps - 1, answer.rmse, float(answer.history.divergence[-1]))
        self._template.bar.advance(self._shown, len(self._recorder.iterations), largest_error(answer.rmse))

    def _asked_to_stop(self) -> str | None:
        template, number = self._template, self._memory.batches - 1
        if template.callback and template.callback(number, Learned(self._network, self._matrices())):
            return f"the callback asked to stop after batch {number}"
        if template.interruption.requested:
            return f"interrupted by the user after batch {number}"
        return None

    def _matrices(self) -> dict[str, Any]:
        known = {p.name: p.value for p in self._network.parameters}
        return known | self._parameters

    def _answer(self, stop: str) -> Answer:
        return Answer(
            values=self._matrices(),
            rmse=self._epoch.rmse,
            squared_error=float(self._epoch.squared.sum()),
            history=self._recorder.finish(),
            stop=stop,
            iterations=self._sweeps,
            interrupted=stop.startswith("interrupted"),
            memory=self._memory,
            runaways=self._runaways,
        )

    def _state(self) -> dict[str, np.ndarray]:
        history = self._recorder.finish()
        state = self._memory.arrays() | {
            "counters": np.array([self._number, self._place, self._sweeps, self._room]),
            "epoch": np.array([self._epoch.squared, self._epoch.entries]),
            "iterations": history.iterations,
            "divergence": history.divergence,
            "rmse": np.array([history[name] for name in self._epoch.names]),
        }
        for name, matrix in self._parameters.items():
            state |= matrix_arrays(f"parameter/{name}", matrix)
        return state

    def _load(self, saved: Mapping[str, np.ndarray]) -> None:
        memory = memory_from(saved)
        if memory is None:
            raise FileError(f"{self._template.resume}: expected a checkpoint of learning by batches.")
        try:
            parameters = {name: matrix_from_arrays(f"parameter/{name}", saved) for name in self._learned}
            memory.check(parameters)
            self._take_counters(memory, saved)
        except (ValueError, IndexError) as error:
            raise FileError(f"{self._template.resume}: the file is damaged: {error}. Start without resume.") from error
        self.continue_with(memory, parameters)
        names = self._epoch.names
        for number, divergence, rmse in zip(saved["iterations"], saved["divergence"], saved["rmse"].T, strict=True):
            self._recorder.add(int(number), dict(zip(names, map(float, rmse), strict=True)), float(divergence))

    def _take_counters(self, memory: Memory, saved: Mapping[str, np.ndarray]) -> None:
        """Where the run is; a ValueError where that does not agree with the history."""
        self._number, self._place, self._sweeps, self._room = map(int, saved["counters"])
        self._epoch.squared, self._epoch.entries = saved["epoch"].copy()
        measured, names, options = saved["iterations"], self._epoch.names, self._options
        most = options.first + (len(measured) + 1) * (options.settle + options.sweeps)
        sound = (
            measured.shape == saved["divergence"].shape == (len(measured),)
            and saved["rmse"].shape == (len(names), len(measured))
            and self._epoch.squared.shape == self._epoch.entries.shape == (len(names),)
            and bool((np.diff(measured, prepend=-1) > 0).all())
            and 0 < len(measured) <= memory.batches
            and 0 <= self._number + self._place <= len(measured)
            and min(self._number, self._place) >= 0
            and measured[-1] < self._sweeps <= most
            and 0 < self._room <= MOST_ROOM
        )
        if not sound:
            raise ValueError(f"counters of {saved['counters'].tolist()} after {memory.batches} batches")


def _all_done(recorder: Recorder) -> str:
    batches = len(recorder.iterations)
    return "the one batch there was is done" if batches == 1 else f"all {batches} batches were done"


def _without_start(method: Method) -> Method:
    """The method for batches that begin with the parameters of those before them."""
    return replace(method, start="random") if getattr(method, "start", None) == "levels" else method  # type: ignore[type-var]  # methods are dataclasses
