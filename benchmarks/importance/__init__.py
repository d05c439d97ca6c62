"""Is the importance of variables right, and how does it compare: coverage of the intervals, ranking, seconds."""
