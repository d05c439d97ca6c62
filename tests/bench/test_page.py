"""The tables in the documentation are those of the recorded runs."""

import numpy as np
import pytest

from benchmarks import page
from benchmarks.__main__ import RESULTS, main
from benchmarks.errors import BenchError
from benchmarks.records import Evaluation, Writer, load

TEXT = "Before.\n\n<!-- {name} -->\nold\n<!-- end -->\n\nAfter.\n"


def record(results, problem, method, seed, values, cpu=1.0, **header):
    """A run with two initial points, best so far and then these values."""
    told = {"problem": problem, "method": method, "seed": seed, "D": 2, "initial": 2, "evaluations": 200}
    writer = Writer(results, {**told, "optimum": 9.0, "minimized": False, **header})
    for i, y in enumerate([0.0, 0.5, *values]):
        writer.add(Evaluation(np.zeros(2), y, cpu=0.0 if i < 2 else cpu, memory=1.0))
    writer.end("finished")


def rows(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def test_a_comparison_has_means_ranks_seeds_and_seconds(tmp_path):
    for seed in range(3):
        record(tmp_path, "Branin50", "vsbo", seed, [1.0] * 100 + [2.0 + seed] * 100, cpu=0.1)
    record(tmp_path, "Branin50", "random", 0, [2.5] * 200)
    record(tmp_path, "Hartmann6-50", "vsbo", 0, [5.0] * 200, cpu=0.01)
    filled = page.fill(TEXT.format(name="synthetic"), load(tmp_path))
    assert filled.startswith("Before.\n\n<!-- synthetic -->\n| method (seeds) ")
    assert filled.endswith("|\n<!-- end -->\n\nAfter.\n")
    head, _, first, second = rows(filled)
    assert head[1:3] == ["Branin50 (best known 9)", "Hartmann6-50 (best known 9)"]
    assert first[0] == "vsbo, `Config()` (1 to 3)"
    assert first[1].startswith("3.000 [")
    assert first[2:] == ["5.000", "1.50", "1.50", "1.00", "2.0"]
    assert second == ["random (1)", "2.500", "-", "1.00 (1)", "1.00 (1)", "2.00 (1)", "-"]
    assert page.fill(filled, load(tmp_path)) == filled


def test_slow_peers_are_compared_at_the_evaluations_they_had(tmp_path):
    record(tmp_path, "Branin50", "vsbo", 0, [1.0] * 10 + [3.0] * 190)
    record(tmp_path, "Branin50", "saasbo", 0, [2.0] * 7, cpu=20.0)
    record(tmp_path, "Hartmann6-50", "vsbo", 0, [4.0] * 200)
    record(tmp_path, "Hartmann6-50", "saasbo", 0, [2.0] * 7, cpu=30.0)
    record(tmp_path, "Rover60", "saasbo", 0, [2.0] * 7)  # nothing of ours to compare with
    filled = page.fill(TEXT.format(name="slow"), load(tmp_path))
    assert rows(filled)[2] == ["saasbo", "@7 2, 1 (0 of 1)", "@7 2, 4 (1 of 1)", "140 to 210, 7.0", "1 of 2"]


def test_bbob_is_ranked_by_group(tmp_path):
    for seed in range(2):
        for name, least in (("BBOB01-40", 1.0), ("BBOB05-40", 0.5), ("BBOB24-40", 0.1)):
            record(tmp_path, name, "vsbo", seed, [8.0 - least - seed] * 200, cpu=0.01, minimized=True)
            record(tmp_path, name, "cma", seed, [8.0 - 3.0 * least**2 - seed] * 200, cpu=0.02, minimized=True)
    record(tmp_path, "BBOB24-40", "random", 0, [1.0] * 200, minimized=True)
    filled = rows(page.fill(TEXT.format(name="bbob"), load(tmp_path)))
    groups = ["1.00", "-", "-", "-", "2.00"]
    assert filled[2] == ["vsbo, `Config()` (2)", *groups, *["1.33 (3)"] * 3, "2", "2.0"]
    assert filled[3] == ["cma (2)", "2.00", "-", "-", "-", "1.00", *["1.67 (3)"] * 3, "1", "4.0"]
    assert filled[4] == ["random (1)", *["-"] * 4, "3.00", "3.00 (1)", "3.00 (1)", "3.00 (1)", "0", "200"]


def test_the_ablation_counts_seeds_that_all_variants_have(tmp_path):
    for method in page.WITHOUT:
        for seed in range(2 + (method == "vsbo")):
            better = method == "vsbo-no-near" and seed == 1
            record(tmp_path, "Lasso300", method, seed, [1.0 + better] * 200, minimized=True)
    lines = {line[0]: line[-1] for line in rows(page.fill(TEXT.format(name="ablation"), load(tmp_path)))}
    assert lines["- (the default)"] == "-1"
    assert lines["the search near the best"] == "-1.5 (1 of 2 better)"
    assert lines["main effects"] == "-1 (0 of 2 better)"


def test_an_unknown_table_lists_the_known_ones():
    with pytest.raises(BenchError, match="'nothing'.*synthetic.*ablation"):
        page.fill(TEXT.format(name="nothing"), [])


def test_the_pages_show_what_is_recorded():
    runs = load(RESULTS)
    for file in page.PAGES:
        text = file.read_text(encoding="utf-8")
        assert page.MARKED.search(text)
        assert page.fill(text, runs) == text, f"{file.name} is not up to date: `python -m benchmarks page` writes it"


def test_the_command_writes_the_pages(tmp_path, monkeypatch, capsys):
    file = tmp_path / "page.md"
    file.write_text(TEXT.format(name="slow"))
    monkeypatch.setattr(page, "PAGES", (file,))
    record(tmp_path / "results", "Branin50", "vsbo", 0, [1.0] * 200)
    record(tmp_path / "results", "Branin50", "ax", 0, [0.7] * 9)
    assert main(["page", "--results", str(tmp_path / "results")]) == 0
    assert "| @9 0.7, 1 (1 of 1) |" in file.read_text()
    assert str(file) in capsys.readouterr().out
