"""How fast vsbo is, side by side with BoTorch and with bare LAPACK: `python -m benchmarks.speed`.

A file is named for what it measures; each has `measure(quick) -> rows`. Contestants of one comparison run in one
process, alternated, with one thread; the times are CPU seconds and the numbers medians, because machines are shared.
"""
