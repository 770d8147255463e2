"""Runs by programs in place of those by the older engines."""

from collections.abc import Collection
from typing import Any

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
    monkeypatch.setitem(run._HOMES, "numpy", run._HOMES["program"])
    return made


def by_programs_on_jax(monkeypatch: pytest.MonkeyPatch, leave_out: Collection[str] = (), **options: Any) -> list[Any]:
    """From now on, `engine="jax"` runs programs, and with `oracle=True` also `engine="numpy"`."""
    program_jax = pytest.importorskip("pfn.engines.program_jax", reason="jax is not installed")
    made: list[Any] = []
    engines = ("jax", "numpy") if options.pop("oracle", False) else ("jax",)

    def make(problem: Problem) -> Any:
        made.append(program_jax.JaxProgramRun(problem, leave_out=tuple(leave_out), **options))
        return made[-1]

    monkeypatch.setattr(program_jax, "make_program_run", make)
    for engine in engines:
        monkeypatch.setitem(run._HOMES, engine, run._HOMES["program on jax"])
    return made
