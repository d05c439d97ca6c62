"""The recorded runs: one (problem, method, seed) is one JSON-lines file, written as it goes.

results/PROBLEM/METHOD/SEED.jsonl while it runs, SEED.jsonl.gz when it is finished. The lines are
  {"run": {...}}         first: problem, method, seed, D, initial, evaluations, versions, machine, threads, started
  {"y": ...}             one an evaluation, the shared initial points first (with "initial": true)
  {"end": {...}}         last: status "finished", "stopped" (out of time) or "failed" (with the error)
Variables are those of the problem before its permutation, so that runs of different seeds can be compared.
"""
