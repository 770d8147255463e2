"""Running many experiments, several at a time, and writing the results: results.json first, the page from it."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import groupby
from os import PathLike, cpu_count
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from pfn import plots
from pfn.errors import FileError
from pfn.files import write_whole
from pfn.paper.catalogue import named
from pfn.paper.experiment import Experiment, Setting
from pfn.paper.reports import Report, report
from pfn.plots.pages import rendered
from pfn.solve.checks import check_count

PAGE = "index.html"
RESULTS = "results.json"
FIGURES = "figures"

SECTIONS = {
    "2": "Positive factor networks",
    "3": "Factored sequential data models",
    "4": "Hierarchical factored state model",
    "5": "Multiple target tracking model",
    "6": "Sparse hierarchical sequential data model",
    "7": "Language modelling",
    "Appendix": "Appendices",
}


def reproduce(
    names: Sequence[str] = (),
    *,
    out: str | PathLike[str] = "paper",
    setting: Setting | None = None,
    jobs: int | None = None,
    started: Callable[[Sequence[Experiment]], None] = lambda _: None,
    finished: Callable[[Report], None] = lambda _: None,
) -> list[Report]:
    """Run experiments and write index.html, results.json and figures/ about them.

    Parameters
    ----------
    names
        Names of experiments; none: all.
    out
        Folder to write into.
    setting
        Seeds, sizes and recording.
    jobs
        Number of experiments that run at a time; None: one a core.
    started
        Function that is called with all experiments before the first runs.
    finished
        Function that is called with every report as it comes.
    """
    chosen, setting = named(names), setting or Setting()
    if jobs is None:
        jobs = cpu_count() or 1
    check_count(jobs, "jobs", 1)
    plots.Picture()  # says what to install where something is missing, before anything runs
    folder = Path(out)
    try:  # a folder that cannot be written is better known before an hour of computing
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
        for name in (PAGE, RESULTS):
            with (folder / name).open("a", encoding="utf-8"):
                pass
    except OSError as error:
        raise FileError(f"{folder}: cannot be made a folder for the page: {error.strerror}. Name another.") from error
    started(chosen)
    reports = []
    try:
        for found in _run(chosen, setting, jobs):
            finished(found)
            reports.append(found)
    finally:  # an interrupted run keeps what it has
        order = [experiment.name for experiment in chosen]
        reports.sort(key=lambda found: order.index(found.experiment.name))
        _write(folder, reports, setting)
    return reports


def _run(chosen: Sequence[Experiment], setting: Setting, jobs: int) -> Iterator[Report]:
    """Reports as they come, from several processes if there are several jobs."""
    if min(jobs, len(chosen)) == 1:
        return (report(experiment, setting) for experiment in chosen)
    run: Iterator[Report] = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_by_name)(experiment.name, setting) for experiment in chosen
    )
    return run


def _by_name(name: str, setting: Setting) -> Report:
    """The report of an experiment in another process, to which it travels by its name."""
    (experiment,) = named([name])
    return report(experiment, setting)


def _write(folder: Path, reports: Sequence[Report], setting: Setting) -> None:
    """Write results, figures and page, without figures of earlier runs of these experiments."""
    results = {
        "pfn": version("positive-factor-networks"),
        "quick": setting.quick,
        "seed": setting.seed,
        "recording": None if setting.recording is None else setting.recording.name,
        "experiments": [found.data() for found in reports],
    }
    files = {name: content for found in reports for name, content in found.files.items()}
    for old in (old for found in reports for old in (folder / FIGURES).glob(f"{found.experiment.name}-[0-9].*")):
        old.unlink()
    for name, content in files.items():
        write_whole(folder / FIGURES / name, content)
    write_whole(folder / RESULTS, json.dumps(results, indent=1, ensure_ascii=False).encode())
    write_whole(folder / PAGE, page(results, files).encode())


def page(results: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """The page, one HTML file that needs no connection, with these results; `files` are the pictures by name."""
    by_section = groupby(results["experiments"], key=lambda found: str(found["section"]).split(".")[0].split()[0])
    parts = [(key, SECTIONS[key], list(members)) for key, members in by_section]
    pictures = {
        name: {"page": content.decode()}
        if name.endswith(".html")
        else {"page": None, "address": f"data:image/png;base64,{b64encode(content).decode()}"}
        for name, content in files.items()
    }
    return rendered("paper/page.html.jinja", results=results, parts=parts, pictures=pictures)
