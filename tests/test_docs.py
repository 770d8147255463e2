"""The code on every page is run, each page in one namespace, and prints what the page says it prints."""

import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
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
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["demo.py", "--out", str(tmp_path)])
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    page = (tmp_path / "index.html").read_text("utf-8")
    assert page.count("data:image/png;base64,") == 2
    assert not re.search(r"(src|href)=\"(?!data:)", page), "the page must not need anything from outside"
    assert capsys.readouterr().out.endswith(f"Open {tmp_path / 'index.html'}\n")


def test_pictures_can_be_drawn_again(tmp_path):
    subprocess.run([sys.executable, ROOT / "docs" / "images" / "make.py", tmp_path], check=True)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in ROOT.glob("docs/images/*.svg")}
    assert all((ROOT / "docs" / "images" / name).stat().st_size < 100_000 for name in drawn)
