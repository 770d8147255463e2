"""Running many experiments, several at a time, and writing what came out: results.json first, the page from it."""

import json
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from os import PathLike, cpu_count
from pathlib import Path

from joblib import Parallel, delayed

from pfn import plots
from pfn.errors import FileError
from pfn.files import write_whole
from pfn.paper.catalogue import named
from pfn.paper.experiment import Experiment, Setting
from pfn.paper.page import page
from pfn.paper.reports import Report, report
from pfn.solve.checks import check_count

PAGE, RESULTS, FIGURES = "index.html", "results.json", "figures"


def reproduce(
    names: Sequence[str] = (),
    *,
    out: str | PathLike[str] = "paper",
    setting: Setting | None = None,
    jobs: int | None = None,
    started: Callable[[Sequence[Experiment]], None] = lambda _: None,
    finished: Callable[[Report], None] = lambda _: None,
) -> list[Report]:
    """Run the experiments with these names, or all, and write index.html, results.json and figures/ into `out`.

    `jobs` run at a time, one a core without it. `finished` is called with every report as it comes.
    """
    chosen, setting, jobs = named(names), setting or Setting(), _checked(jobs)
    plots.Picture()  # says what to install where something is missing, before anything runs
    folder = _writable(Path(out))
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
    if min(jobs, len(chosen)) == 1:
        return (report(experiment, setting) for experiment in chosen)
    run: Iterator[Report] = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_by_name)(experiment.name, setting) for experiment in chosen
    )
    return run


def _by_name(name: str, setting: Setting) -> Report:
    """For another process: an experiment travels by its name."""
    (experiment,) = named([name])
    return report(experiment, setting)


def _write(folder: Path, reports: Sequence[Report], setting: Setting) -> None:
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


def _writable(folder: Path) -> Path:
    """The folder, made and tried out: what cannot be written is better known before an hour of computing."""
    try:
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
        for name in (PAGE, RESULTS):
            with (folder / name).open("a", encoding="utf-8"):
                pass
    except OSError as error:
        raise FileError(f"{folder}: cannot be made a folder for the page: {error.strerror}. Name another.") from error
    return folder


def _checked(jobs: int | None) -> int:
    if jobs is None:
        return cpu_count() or 1
    check_count(jobs, "jobs", 1)
    return jobs
