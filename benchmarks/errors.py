"""What the bench says when it cannot go on."""


class BenchError(Exception):
    """A request the bench cannot fulfil: the message names what was asked for and what would be right."""


class NoResultsError(BenchError):
    """What was recorded does not suffice for a figure: the message says what it needs."""
