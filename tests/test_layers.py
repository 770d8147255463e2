"""The plan of the house (ARCHITECTURE.md): imports go down only."""

import ast
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOORS = {  # what a room may import; it may also use what those rooms may import, and everyone may use errors
    "errors": "",
    "network": "errors",
    "compiler": "network",
    "updates": "errors",
    "formulas": "errors",
    "program": "compiler formulas updates",
    "backends": "program",
    "engines": "backends updates",
    "exact": "compiler updates",
    "files": "network",
    "solve": "engines exact files",
    "automata": "network",
    "models": "pfn automata",
    "audio": "models",
    "plots": "audio",
    "paper": "plots",
    "cli": "paper",
    "__main__": "cli",
    "pfn": "solve",  # the public API itself, for rooms that are built on it
}
EXTRAS = {"clarabel", "jax", "jinja2", "librosa", "matplotlib", "mido", "pretty_midi", "sklearn", "soundfile", "soxr"}
TABLES = {"pandas", "polars", "xarray"}  # libraries whose tables are taken and never imported


def name_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): ast.parse(path.read_text("utf-8")) for path in sorted(ROOT.glob("pfn/**/*.py"))}


def imports(node, *, annotations=True):
    """The modules that the import statements below a node name, with or without those for annotations."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        names = (f"{node.module}.{alias.name}" for alias in node.names)
        yield from (name if name in MODULES else node.module for name in names)
    elif annotations or not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
        for child in ast.iter_child_nodes(node):
            yield from imports(child, annotations=annotations)


def room(module):
    return module.split(".")[1] if "." in module else module


def reachable(start):
    return {start, "errors"}.union(*(reachable(door) for door in DOORS[start].split()))


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_down_only(module):
    annotations = module != "pfn"  # which names the rooms above it for type checkers, and loads them on first use
    names = imports(MODULES[module], annotations=annotations)
    assert {room(name) for name in names if name in MODULES} <= reachable(room(module))


def test_no_import_cycle():
    graph = {module: set(imports(tree, annotations=False)) & MODULES.keys() for module, tree in MODULES.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the modules


@pytest.mark.parametrize("module", MODULES)
def test_only_extras_are_imported_inside_functions(module):
    functions = (node for node in ast.walk(MODULES[module]) if isinstance(node, ast.FunctionDef))
    assert {name.split(".")[0] for function in functions for name in imports(function)} <= EXTRAS


@pytest.mark.parametrize("module", MODULES)
def test_libraries_of_tables_are_imported_nowhere(module):
    assert not {name.split(".")[0] for name in imports(MODULES[module])} & TABLES


CORE = {"compiler", "engines", "exact", "solve", "updates"}
SHARED = {"pfn.solve.checks", "pfn.solve.progress"}  # checks of options and the progress bar, which have no public name


@pytest.mark.parametrize("module", [module for module in MODULES if room(module) in {"models", "audio"}])
def test_models_and_audio_are_built_on_the_public_api(module):
    assert {name for name in imports(MODULES[module]) if name in MODULES and room(name) in CORE} <= SHARED


def test_files_of_the_outer_rooms_have_names_of_their_own():
    outer = {"automata", "models", "audio", "plots", "paper"}
    names = Counter(module.split(".")[-1] for module in MODULES if room(module) in outer and module.count(".") > 1)
    assert not [name for name, count in names.items() if count > 1]


def test_no_module_is_called_utils():
    assert not [module for module in MODULES if module.split(".")[-1] in {"utils", "util", "helpers", "misc"}]


@pytest.mark.parametrize(
    ("touch", "unwanted"),
    [
        ("", EXTRAS | TABLES | {"networkx", "rich", "scipy"}),
        ("[getattr(pfn, name) for name in pfn.__all__]", EXTRAS | TABLES),
        ("import pfn.cli", EXTRAS | {"networkx", "numpy", "scipy"}),
    ],
    ids=["import pfn", "every public name", "pfn --help"],
)
def test_stays_light(touch, unwanted):
    code = f"import sys, pfn\n{touch}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not unwanted & set(loaded.split())
