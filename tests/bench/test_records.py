"""Files of recorded runs: what is written comes back; what is broken is named."""

import gzip
import json

import numpy as np
import pytest

from benchmarks import records
from benchmarks.errors import BenchError
from benchmarks.records import BrokenRecordError, Evaluation, Writer

HEADER = {"problem": "P", "method": "m", "seed": 3, "D": 4, "initial": 2, "evaluations": 4, "versions": {"a": "1"}}


def evaluations(n=6, D=4):
    rng = np.random.default_rng(0)
    return [
        Evaluation(
            rng.random(D),
            y,
            wall=0.123456789 * (i >= 2),
            cpu=12345.678 * (i >= 2),
            memory=100.04 + i,
            phases={"fit": 0.1} if i == 2 else {"fit": 0.1, "selection": 2.0} if i > 2 else {},
            selected=None if i < 3 else (0, 2),
        )
        for i, y in enumerate([1.0, 0.5, float("nan"), 1.0, 2.0, float("inf"), 1.5, *range(3, n)][:n])
    ]


def write(folder, header=HEADER, end="finished", told=None, error=None):
    writer = Writer(folder, header)
    for evaluation in evaluations() if told is None else told:
        writer.add(evaluation)
    if end is None:
        writer.close()
        return writer.path
    return writer.end(end, error)


def test_what_is_written_comes_back(tmp_path):
    path = write(tmp_path)
    assert path == tmp_path / "P" / "m" / "3.jsonl.gz"
    assert list(tmp_path.rglob("*.*")) == [path], "only the ended file is left"
    (run,) = records.load(tmp_path)
    told = evaluations()
    assert (run.problem, run.method, run.seed, run.D, run.initial) == ("P", "m", 3, 4, 2)
    assert (run.status, run.error, run.evaluations) == ("finished", None, 4)
    assert run.header == HEADER
    np.testing.assert_array_equal(run.y, [1.0, 0.5, np.nan, 1.0, 2.0, np.inf])
    np.testing.assert_array_equal(run.best, [1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    np.testing.assert_array_equal(run.wall, [0, 0, 0.1235, 0.1235, 0.1235, 0.1235])
    np.testing.assert_array_equal(run.cpu, [0, 0, 12350, 12350, 12350, 12350])
    np.testing.assert_array_equal(run.memory, [100.0, 101.0, 102.0, 103.0, 104.0, 105.0])
    np.testing.assert_array_equal(run.phases["fit"], [0, 0, 0.1, 0.1, 0.1, 0.1])
    np.testing.assert_array_equal(run.phases["selection"], [0, 0, 0, 2, 2, 2])
    assert run.selected == (None, None, None, (0, 2), (0, 2), (0, 2))
    np.testing.assert_array_equal(run.best_point, np.round(told[4].x, 6))
    lines = gzip.decompress(path.read_bytes()).splitlines()
    assert [b'"x"' in line for line in lines[1:-1]] == [i == 4 for i in range(6)], "only the best point is kept"


def test_a_running_file_has_every_point_exactly_and_every_line_at_once(tmp_path):
    writer = Writer(tmp_path, HEADER)
    for i, evaluation in enumerate(evaluations()):
        writer.add(evaluation)
        known = records.read_unfinished(writer.path)
        assert len(known.evaluations) == i + 1
        np.testing.assert_array_equal(known.evaluations[i].x, evaluation.x)
        assert records.read(writer.path).status == "running"
    writer.close()
    assert records.load(tmp_path) == [], "what still runs is no result"


def test_no_finite_value_at_all(tmp_path):
    write(tmp_path, told=[Evaluation(np.zeros(4), float("nan"))] * 2, end="failed", error="why")
    (run,) = records.load(tmp_path)
    np.testing.assert_array_equal(run.best, [-np.inf, -np.inf])
    assert (run.status, run.error, run.best_point, run.evaluations) == ("failed", "why", None, 0)


def test_load_chooses_and_sorts(tmp_path):
    for problem in ("Q", "P"):
        for method in ("b", "a"):
            for seed in (10, 2):
                write(tmp_path, {**HEADER, "problem": problem, "method": method, "seed": seed})
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "x.csv").write_text("")
    everything = [(p, m, s) for p in "PQ" for m in "ab" for s in (2, 10)]
    assert [(run.problem, run.method, run.seed) for run in records.load(tmp_path)] == everything
    chosen = records.load(tmp_path, problems=["Q"], methods=["a"], seeds=range(5))
    assert [(run.problem, run.method, run.seed) for run in chosen] == [("Q", "a", 2)]
    assert records.load(tmp_path / "nothing") == []


def test_a_run_of_205_evaluations_in_50_variables_takes_below_10_kB(tmp_path):
    rng = np.random.default_rng(0)
    header = {**HEADER, "D": 50, "initial": 5, "evaluations": 200}
    phases = {"fit": 0.0, "acquisition": 0.0, "selection": 0.0}
    # A typical search works on some ten variables.
    y = np.maximum.accumulate(rng.normal(size=205)) - rng.exponential(size=205) * (rng.random(205) > 0.12)
    told = [
        Evaluation(rng.random(50), v, *rng.random(2), 150.0, {k: rng.random() for k in phases}, tuple(range(i // 20)))
        for i, v in enumerate(y)
    ]
    assert write(tmp_path, header, told=told).stat().st_size < 10_000


def test_equal_runs_are_equal_files(tmp_path):
    assert write(tmp_path / "a").read_bytes() == write(tmp_path / "b").read_bytes()


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_a_truncated_file_is_named_and_left_out(tmp_path, capsys, keep):
    path = write(tmp_path)
    other = write(tmp_path, {**HEADER, "seed": 4})
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])
    assert [run.seed for run in records.load(tmp_path)] == [4]
    said = capsys.readouterr().err
    assert str(path) in said
    assert "broken" in said
    assert str(other) not in said


def rewritten(path, change):
    """The file with its list of lines changed."""
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    lines = change(lines)
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda lines: [], "no header"),
        (lambda lines: lines[:-1], "no end line"),
        (lambda lines: lines[:2] + lines[3:], "end line does not fit"),
        (lambda lines: lines[1:], "line 1"),
        (lambda lines: [{"run": {**HEADER, "seed": 5}}, *lines[1:]], "header is that of P/m/5"),
        (lambda lines: [{"run": {**HEADER, "D": "4"}}, *lines[1:]], "must have D (int); got '4'"),
        (lambda lines: [{"run": {**HEADER, "D": 5}}, *lines[1:]], "x has 4 variables, not 5"),
        (lambda lines: [{"run": [1]}, *lines[1:]], "line 1"),
        (lambda lines: [lines[0], {"value": 1}, *lines[2:]], "KeyError 'y' (line 2)"),
        (lambda lines: [lines[0], [1, 2], *lines[2:]], "line 2"),
        (lambda lines: [lines[0], 7, *lines[2:]], "line 2"),
        (lambda lines: [lines[0], {**lines[1], "y": "much"}, *lines[2:]], "could not convert"),
        (lambda lines: [*lines[:-1], {"end": {"status": "well", "evaluations": 6}}], "end line does not fit"),
        (lambda lines: [*lines, lines[-1]], "end line does not fit"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path, change, why):
    path = write(tmp_path)
    rewritten(path, change)
    with pytest.raises(BrokenRecordError) as raised:
        records.read(path)
    assert str(path) in str(raised.value)
    assert why in str(raised.value)


def test_files_that_are_no_records(tmp_path):
    path = write(tmp_path)
    for data in (b"", b"no gz", gzip.compress(b"\xff\xfe\n"), gzip.compress(b"not json\n")):
        path.write_bytes(data)
        with pytest.raises(BrokenRecordError, match="broken"):
            records.read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(BrokenRecordError, match="broken"):
        records.read(path)


def test_cut_anywhere_a_running_file_keeps_its_whole_lines(tmp_path):
    path = write(tmp_path, end=None)
    data = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(data) if byte == ord("\n")]
    for size in {*range(ends[0], len(data) + 1, 7), *ends, *(end - 1 for end in ends[1:])}:
        path.write_bytes(data[:size])
        known = records.read_unfinished(path)
        whole = sum(end <= size for end in ends)
        assert len(known.evaluations) == whole - 1
        assert (known.size, known.cut) == (ends[whole - 1], size != ends[whole - 1])
    path.write_bytes(data[: ends[0] - 1])
    with pytest.raises(BrokenRecordError, match="no header"):
        records.read_unfinished(path)
    path.write_bytes(data[: ends[1]] + b"\x00\x00\n")
    assert records.read_unfinished(path).cut, "a last line that is no JSON counts as cut"
    path.write_bytes(data[: ends[1]] + b"\x00\x00\n" + data[ends[1] :])
    with pytest.raises(BrokenRecordError, match="line 3"):
        records.read_unfinished(path)
    assert records.read_unfinished(tmp_path / "P" / "m" / "99.jsonl") is None


def test_going_on_gives_the_same_file(tmp_path):
    told = evaluations()
    whole = write(tmp_path / "whole")
    path = write(tmp_path / "cut", told=told[:3], end=None)
    with path.open("ab") as file:
        file.write(b'{"y": 1.0, "be')
    known = records.read_unfinished(path)
    assert known.cut
    writer = Writer(tmp_path / "cut", known.header, known)
    assert writer.count == 3
    for evaluation in told[3:]:
        writer.add(evaluation)
    assert writer.end("finished").read_bytes() == whole.read_bytes()


def test_killed_between_the_end_line_and_the_compressed_file(tmp_path):
    path = write(tmp_path, end=None)
    with path.open("ab") as file:
        file.write(b'{"end": {"status": "finished", "error": null, "evaluations": 6}}\n')
    known = records.read_unfinished(path)
    assert len(known.evaluations) == 6
    Writer(tmp_path, known.header, known).end("finished")
    assert records.load(tmp_path)[0].status == "finished"


def test_an_ended_run_is_replaced_only_when_the_new_one_has_ended(tmp_path):
    write(tmp_path)
    writer = Writer(tmp_path, {**HEADER, "evaluations": 5})
    writer.add(evaluations()[0])
    assert len(records.load(tmp_path)[0].y) == 6
    writer.end("stopped")
    assert len(records.load(tmp_path)[0].y) == 1


def test_two_writers_of_one_run(tmp_path):
    writer = Writer(tmp_path, HEADER)
    writer.add(evaluations()[0])
    with pytest.raises(BenchError, match="another process"):
        Writer(tmp_path, HEADER)
    assert len(records.read_unfinished(writer.path).evaluations) == 1, "the first one's lines are untouched"
    writer.close()
    Writer(tmp_path, HEADER).close()


def test_wrong_arguments_are_named(tmp_path):
    with pytest.raises(BenchError, match="must have seed"):
        Writer(tmp_path, {**HEADER, "seed": None})
    writer = Writer(tmp_path, HEADER)
    with pytest.raises(BenchError, match=r"x must be \(4,\)"):
        writer.add(Evaluation(np.zeros(3), 1.0))
    with pytest.raises(BenchError, match="status must be one of"):
        writer.end("done")
    writer.close()
