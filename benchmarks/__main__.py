"""Runs the benchmarks, in less than 20 minutes on two cores: `python -m benchmarks`, or with the names of some.

What a script prints is kept beside it as text, unless it is given less work here than by itself.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from time import perf_counter

FOLDER = Path(__file__).parent
SMALLER = {
    "consensus": ["--largest", "1000"],
    "convergence": ["--spectrogram-seeds", "3"],
    "exact_against_propagation": ["--largest", "40", "--sweeps", "1500"],
    "language": ["--quick"],
    "learning_transitions": ["--seeds", "3"],
    "learning_with_exact": ["--seeds", "3"],
    "many_sequences": ["--quick"],
    "noisy_tracking": ["--seeds", "2"],
    "quadratic_solvers": ["--largest", "10000"],
    "recovered_targets": ["--scenes", "40", "--solved", "4"],
    "section6": ["--quick"],
    "settling": ["--cases", "60"],
    "substitution": ["--quick"],
    "transcription": ["--from", "0", "--shipped"],
}
AS_THEY_ARE = [
    "tracking_iteration",
    "spectrogram_learning",
    "plain_nmf",
    "convolutive_nmf",
    "jax_engine",
    "growth",
    "memory",
    "structured_terms",
    "drums",
    "separation",
]


def run(name: str) -> bool:
    """Run one, show what it says, keep it; whether it went well."""
    print(f"== {name} {' '.join(SMALLER.get(name, []))}", flush=True)
    begin = perf_counter()
    command = [sys.executable, "-m", f"benchmarks.{name}", *SMALLER.get(name, [])]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    print(f"({perf_counter() - begin:.0f} s)\n", flush=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    elif name not in SMALLER and "needs ../shared" not in done.stdout:
        (FOLDER / f"{name}.txt").write_text(done.stdout, encoding="utf-8")
    return not done.returncode


def main(names: list[str]) -> int:
    unknown = [name for name in names if not (FOLDER / f"{name}.py").exists()]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}. There are: {', '.join([*AS_THEY_ARE, *SMALLER, 'gpu'])}")
        return 2
    failed = [name for name in names or [*AS_THEY_ARE, *SMALLER] if not run(name)]
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of scripts, such as plain_nmf; all but gpu if none is given")
    sys.exit(main(parser.parse_args().names))
