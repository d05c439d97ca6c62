"""What a suggestion costs inside Optuna: ours beside Optuna's GP and TPE samplers.

python -m benchmarks.doors          measures what is missing in results/suggestions.json, then writes suggestions.md
"""
