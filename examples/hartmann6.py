"""Find the maximum of Hartmann6 hidden among 50 variables: `python -m examples.hartmann6 [--budget 205] [--seed 0]`.

Six variables decide, twelve more have a tenth and a hundredth of their weight, 32 do nothing; nobody tells which.
"""

import argparse
import sys
import time

from scipy.optimize import OptimizeResult

import vsbo
from benchmarks.problems import hartmann6_50, permuted


def main() -> None:
    """Run, with a progress line, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=int, default=205, help="evaluations (default 205)")
    parser.add_argument("--seed", type=int, default=0, help="of the search and of the hidden order (default 0)")
    parser.add_argument("--paper", action="store_true", help="use the published method, Config.paper()")
    arguments = parser.parse_args()

    problem = permuted(hartmann6_50(), seed=arguments.seed)
    config = vsbo.Config.paper() if arguments.paper else vsbo.Config()
    began = time.perf_counter()

    def progress(result: OptimizeResult) -> None:
        if sys.stdout.isatty():
            spent = time.perf_counter() - began
            left = spent / result.nfev * (arguments.budget - result.nfev)
            print(
                f"\r{result.nfev:4d}/{arguments.budget} evaluations   best {result.fun:.4f}   "
                f"{len(result.selected):2d} variables selected   {left:4.0f} s left ",
                end="",
                flush=True,
            )

    result = vsbo.maximize(
        problem.f, problem.bounds, budget=arguments.budget, rng=arguments.seed, config=config, callback=progress
    )
    print(f"\n\n{result.message}, in {time.perf_counter() - began:.1f} s")
    print(f"best value          {result.fun:.4f}  (the maximum is {problem.best:.4f})")
    print(f"selected variables  {list(result.selected)}")
    print(f"truly important     {sorted(problem.important)}")
    print("\nimportance of the first ten (share of the whole, % )")
    for j in sorted(range(problem.D), key=lambda j: -result.importance[j])[:10]:
        share = 100 * result.importance[j]
        mark = "*" if j in problem.important else " "
        print(f"  x{j:<3d}{mark} {share:5.1f}  {'#' * round(share * 1.5)}")
    print("  * one of the six that decide")


if __name__ == "__main__":
    main()
