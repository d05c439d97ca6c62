"""A line of bars: lowest and highest where they are, and no trouble with equal, huge or many values."""

from vsbo.interfaces.sparkline import sparkline


def test_bars_follow_the_values():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1.0, 0.0]) == "█▁"


def test_few_many_equal_and_huge_values():
    assert sparkline([]) == ""
    assert sparkline([2.0, 2.0]) == "▄▄"
    assert sparkline([-1.7e308, 1.7e308]) == "▁█"
    many = sparkline(list(range(1000)), width=10)
    assert len(many) == 10
    assert (many[0], many[-1]) == ("▁", "█")
