"""A short run of the fuzzer, by hypothesis; and that the fuzzer itself finds faults."""

from __future__ import annotations

import sys
import time
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mteb_ext import json_files
from mteb_ext.data import readers

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
import fuzz

FORMATS = fuzz.formats()


@pytest.mark.parametrize("name", FORMATS)
def test_the_samples_are_read_whole(name, tmp_path):
    form = FORMATS[name]
    for path, content in form.pack(form.files).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    shape = form.shape(form.files)
    assert fuzz._shape(form.read(tmp_path)) == shape
    assert len(shape) > 3 if isinstance(shape, fuzz._Values) else min(shape) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@settings(
    max_examples=100,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(random=st.randoms(use_true_random=False))
def test_a_damaged_file_is_read_whole_or_refused(name, tmp_path, random):
    assert fuzz.one_case(FORMATS[name], tmp_path, random) in {"read", "refused"}


def faulty(name, read):
    form = FORMATS[name]
    return fuzz.Format(form.files, read, form.shape, form.pack)


def test_the_fuzzer_finds_lost_rows(tmp_path):
    form = faulty("text lines", lambda f: (f / "t.txt").read_text("utf-8").split("\n")[2:])
    with pytest.raises(fuzz.FaultError, match=r"read \(\d+,\) rows, where there are"):
        for seed in range(50):
            fuzz.one_case(form, tmp_path, Random(seed))


def test_the_fuzzer_finds_other_exceptions(tmp_path):
    form = faulty("number lines", lambda f: [float(x) for x in (f / "n.txt").read_text().split()])
    with pytest.raises(fuzz.FaultError, match="Error: "):
        for seed in range(50):
            fuzz.one_case(form, tmp_path, Random(seed))


def test_the_fuzzer_finds_a_reader_that_hangs(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz, "SECONDS_A_CASE", 0.05)
    start = time.process_time()

    def busy(folder):
        while time.process_time() - start < 10:
            pass

    form = faulty("text lines", busy)
    with pytest.raises(fuzz.FaultError, match="not done after"):
        fuzz.one_case(form, tmp_path, Random(0))


def test_the_report_counts_every_case(tmp_path, capsys):
    fuzz._report("number lines", FORMATS["number lines"], tmp_path, range(30))
    _, name, cases, refused, read, faults, *_ = capsys.readouterr().out.split("|")
    assert (name.strip(), cases.strip(), faults.strip()) == ("number lines", "30", "0")
    assert int(refused) + int(read) == 30
    assert min(int(refused), int(read)) > 0


def test_every_public_reader_is_fuzzed():
    source = Path(fuzz.__file__).read_text("utf-8")
    for name in vars(readers):
        if name.startswith("read_"):
            assert f"readers.{name}" in source


@pytest.mark.slow
@pytest.mark.parametrize("unit", ['{"":{"":{}}},', '{"":0},', "[],", "0,", "0.1234567,"])
def test_json_takes_at_most_forty_times_the_memory_of_the_file(unit, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(f"[{unit * 20_000}0]")
    tracemalloc.start()
    json_files.read_json(path, parse_int=float)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * path.stat().st_size
