"""Runs by programs in place of those by other engines."""

from collections.abc import Callable, Collection
from typing import Any
from unittest.mock import patch

import pytest

from pfn.engines import Problem, program_engine, run
from pfn.engines.program_engine import ProgramRun


def by_programs(monkeypatch: pytest.MonkeyPatch, leave_out: Collection[str] = ()) -> list[ProgramRun]:
    """From now on, `engine="numpy"` runs programs, without these passes; the runs are collected in what is returned."""
    made: list[ProgramRun] = []

    def make(problem: Problem) -> ProgramRun:
        made.append(ProgramRun(problem, leave_out=tuple(leave_out)))
        return made[-1]

    monkeypatch.setattr(program_engine, "make_program_run", make)
    monkeypatch.setitem(run._HOMES, "numpy", ("pfn.engines.program_engine", "make_program_run"))
    return made


def by_the_older_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, `engine="numpy"` runs the engine that knows no programs."""
    monkeypatch.setitem(run._HOMES, "numpy", run._HOMES["numpy without programs"])


def by_programs_on_jax(
    monkeypatch: pytest.MonkeyPatch, leave_out: Collection[str] = (), *, oracle: bool = False
) -> list[Any]:
    """From now on, `engine="jax"` runs programs, and with `oracle` also `engine="numpy"`; the runs are collected."""
    program_jax = pytest.importorskip("pfn.engines.program_jax", reason="jax is not installed")
    made: list[Any] = []

    def make(problem: Problem) -> Any:
        made.append(program_jax.JaxProgramRun(problem, leave_out=tuple(leave_out)))
        return made[-1]

    monkeypatch.setattr(program_jax, "make_program_run", make)
    for engine in ("jax", "numpy") if oracle else ("jax",):
        monkeypatch.setitem(run._HOMES, engine, run._HOMES["jax by programs"])
    return made


class _Captured(Exception):  # noqa: N818 - it is no error: it brings the problem out
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def problem_of(ask: Callable[..., Any], *arguments: Any, **options: Any) -> Problem:
    """The problem that an engine would be given."""

    def capture(_engine: str, problem: Problem) -> None:
        raise _Captured(problem)

    with patch("pfn.solve.propagation.make_run", capture):
        try:
            ask(*arguments, **options)
        except _Captured as captured:
            return captured.problem
    raise AssertionError("no engine was asked for")
