"""What keeping a search in a file costs: `python -m benchmarks.storage`."""
