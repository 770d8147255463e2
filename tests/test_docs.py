"""The code on every page is run, each page in one namespace, and prints what the page says it prints."""

import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from pfn.plots import Picture

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
EXAMPLES = sorted(ROOT.glob("examples/plot_*.py"))
BLOCKS = re.compile(r"^```python\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


def lines(text):
    return [line.rstrip() for line in text.rstrip().splitlines()]


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_code_on_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, namespace = page.read_text("utf-8"), {"__name__": "__page__"}
    for block in BLOCKS.finditer(text):
        code, shown = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile("\n" * line + code, str(page), "exec"), namespace)  # tracebacks name the page's line
        if shown is not None:
            assert lines(printed.getvalue()) == lines(shown), f"{page.name}, line {line}"


def test_pages_have_code():
    assert sum(len(BLOCKS.findall(page.read_text("utf-8"))) for page in PAGES) > 10


def test_links_between_pages_lead_somewhere():
    for page in [*PAGES, *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text("utf-8")):
            made = target.startswith("gallery/")  # by the examples, when the pages are built
            assert made or (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(example))
    pictures = [value for value in names.values() if isinstance(value, Picture)]
    assert all(picture.png().startswith(b"\x89PNG") for picture in pictures)
    assert pictures


def test_pictures_can_be_drawn_again(tmp_path):
    subprocess.run([sys.executable, ROOT / "docs" / "images" / "make.py", tmp_path], check=True)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in ROOT.glob("docs/images/*.svg")}
    assert all((ROOT / "docs" / "images" / name).stat().st_size < 100_000 for name in drawn)
