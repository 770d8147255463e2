"""Which solver for noisy observations: Clarabel, PIQP, OSQP or HiGHS?

The quadratic programs of noisy tracking scenes, from a thousand unknowns up: seconds, and how far the answer is from
the equations and from the best objective found. A solver that took ten times as long as the fastest, on a problem that
takes a tenth of a second or more, is not asked again.

    python -m benchmarks.quadratic_solvers [--largest 300000]
"""

import argparse
from collections.abc import Callable
from time import process_time

import numpy as np
import scipy.sparse as sp

from benchmarks.side_by_side import table
from pfn.exact import Deadline, Noise, assemble
from pfn.exact.noisy import program_of
from pfn.exact.quadratic import Quadratic
from pfn.exact.reduction import reduce
from pfn.models import simulate_targets, tracking_network

SCENES = ((1, 5, 8), (3, 15, 26), (6, 20, 60), (15, 50, 120), (40, 50, 300), (130, 50, 1000))
PATIENCE = 60.0  # seconds
NOISE = 0.1


def main(largest: int) -> None:
    rows = {}
    solvers: dict[str, Callable[[Quadratic], np.ndarray]] = {
        "Clarabel": clarabel,
        "PIQP": piqp,
        "OSQP": osqp,
        "HiGHS": highs,
    }
    for count, positions, length in SCENES:
        program = noisy_program(count, positions, length)
        if program.costs.size > largest:
            break
        found = {}
        for name, solver in solvers.items():
            begin = process_time()
            answer = solver(program)
            found[name] = (process_time() - begin, answer)
            print(f"{program.costs.size:,} unknowns, {name}: {found[name][0]:.2f} s", flush=True)
        fastest = min(seconds for seconds, _ in found.values())
        solvers = {name: solvers[name] for name, (seconds, _) in found.items() if seconds < max(10 * fastest, 1.0)}
        best = min(objective(program, answer) for _, answer in found.values())
        for name, (seconds, answer) in found.items():
            off = objective(program, answer) / best - 1
            violated = float(np.abs(program.matrix @ answer - program.values).max())
            rows[f"{program.costs.size:,} unknowns, {name}"] = (f"{seconds:.2f}", f"{violated:.0e}", f"{off:.0e}")
    print(table("Noisy tracking scenes", rows, ("seconds", "violation", "objective above the best")))


def noisy_program(count: int, positions: int, length: int) -> Quadratic:
    network = tracking_network(positions)
    scene = simulate_targets(network, count, length=length, seed=0, noise=NOISE)
    system = assemble(network, {p.name: p.value for p in network.parameters}, length, {"x1": length})
    size = system.matrix.shape[1]
    noise = Noise(
        known=np.full(size, np.nan),
        observed=system.flat(scene.observed),
        squared=np.ones(size, bool),
        background=np.where(system.mask(["x1"]), 0, -1),
        weights=1.3 * NOISE * system.mask(["x4"]),
    )
    return program_of(reduce(system.matrix, noise.known), noise)


def objective(program: Quadratic, answer: np.ndarray) -> float:
    return float(program.squares @ answer**2 + program.costs @ answer)


def clarabel(program: Quadratic) -> np.ndarray:
    return program.minimum(Deadline(2 * PATIENCE))


def piqp(program: Quadratic) -> np.ndarray:
    import piqp

    solver = piqp.SparseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-9
    lower = np.where(program.free, -np.inf, 0.0)
    squares, equations = sp.csc_matrix(sp.diags(2 * program.squares)), sp.csc_matrix(program.matrix)
    solver.setup(
        squares, program.costs, equations, program.values, None, None, None, lower, np.full(lower.size, np.inf)
    )
    solver.solve()
    return np.array(solver.result.x)


def osqp(program: Quadratic) -> np.ndarray:
    import osqp

    solver = osqp.OSQP()
    bounded = sp.csr_array(sp.eye_array(program.costs.size))[np.flatnonzero(~program.free)]
    rows = sp.csc_matrix(sp.vstack([program.matrix, bounded], format="csc"))
    lower = np.concatenate([program.values, np.zeros(bounded.shape[0])])
    upper = np.concatenate([program.values, np.full(bounded.shape[0], np.inf)])
    options = {"eps_abs": 1e-7, "eps_rel": 1e-7, "max_iter": 100_000, "time_limit": 2 * PATIENCE, "verbose": False}
    solver.setup(sp.csc_matrix(sp.diags(2 * program.squares)), program.costs, rows, lower, upper, **options)
    return np.array(solver.solve().x)


def highs(program: Quadratic) -> np.ndarray:
    import highspy

    model = highspy.HighsModel()
    columns, squares = sp.csc_matrix(program.matrix), sp.csc_matrix(sp.diags(2 * program.squares))
    size = program.costs.size
    model.lp_.num_col_, model.lp_.num_row_ = size, program.values.size
    model.lp_.col_cost_, model.lp_.col_upper_ = program.costs, np.full(size, np.inf)
    model.lp_.col_lower_ = np.where(program.free, -np.inf, 0.0)
    model.lp_.row_lower_ = model.lp_.row_upper_ = program.values
    model.lp_.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.lp_.a_matrix_.start_, model.lp_.a_matrix_.index_ = columns.indptr, columns.indices
    model.lp_.a_matrix_.value_ = columns.data
    model.hessian_.dim_, model.hessian_.format_ = size, highspy.HessianFormat.kTriangular
    model.hessian_.start_, model.hessian_.index_ = squares.indptr, squares.indices
    model.hessian_.value_ = squares.data
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("time_limit", 2 * PATIENCE)
    solver.passModel(model)
    solver.run()
    return np.array(solver.getSolution().col_value)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=1_000_000, help="most unknowns")
    main(parser.parse_args().largest)
