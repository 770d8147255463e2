"""Runs by programs in place of those by the NumPy engine."""

from collections.abc import Collection

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
