"""Leaks: what counts as seen, the formats of training data, counting, and the command."""

import gzip
import json
import os
import random
import re
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from mteb_ext import verify_results
from mteb_ext.analysis.folder import ResultsFolder
from mteb_ext.analysis.seen import SeenBy, seen_in
from mteb_ext.cli import main
from mteb_ext.errors import DataError
from mteb_ext.formats.leaks import read_leaks, write_leaks
from mteb_ext.leaks.counting import Lookup, Seen
from mteb_ext.leaks.index import TestIndex
from mteb_ext.leaks.items import Item, TestSet, sets_of
from mteb_ext.leaks.normalising import keys, spaced, words
from mteb_ext.leaks.own import as_training
from mteb_ext.leaks.reading import read_batches, training_files
from mteb_ext.metrics.two_samples import correlation_difference, mean_difference
from mteb_ext.tables.leaks import seen_table

A = "The blue kettle on the stove was whistling."
B = "A grey heron stood beside the frozen pond."
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"


def zstd(content):
    return pa.compress(content, codec="zstd", asbytes=True)


def arrow(*texts):
    return pa.array(texts, pa.large_string())


def texts_of(path, columns=()):
    return [text for batch in read_batches(path, columns) for text in batch.texts.to_pylist()]


def records_of(path):
    return [number for batch in read_batches(path) for number in batch.records.tolist()]


class TestNormalising:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Don't  STOP!", ["don", "t", "stop"]),
            ("\ufb01ne Stra\u00dfe_x", ["fine", "strasse", "x"]),
            ("\uff11\uff15\u6b73\u306e\u72ac\u3002", ["15", "\u6b73", "\u306e", "\u72ac"]),
            ("\u0915\u093f\u0924\u093e\u092c", ["\u0915\u093f\u0924\u093e\u092c"]),  # vowel marks
            ("cafe\u0301", ["caf\u00e9"]),
            ("``--''", []),
        ],
    )
    def test_words(self, text, expected):
        assert words(text) == expected

    @settings(max_examples=30, deadline=None)
    @given(st.lists(st.text() | st.text(st.characters(max_codepoint=127))))
    def test_arrays_are_folded_as_single_texts_are(self, texts):
        found = spaced(arrow(*texts))
        assert [text.split() for text in found.to_pylist()] == [words(text) for text in texts]
        assert keys(found).to_pylist() == ["".join(words(text)) for text in texts]

    @settings(max_examples=50, deadline=None)
    @given(st.text())
    def test_words_hold_letters_marks_and_digits_alone(self, text):
        kept = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
        by_category = [c for c in kept if unicodedata.category(c)[0] in "LMN"]
        assert list("".join(words(text))) == by_category

    def test_part_of_an_array(self):
        part = arrow("x", "Some Words", "\u00c4pfel", "y").slice(1, 2)
        assert keys(spaced(part)).to_pylist() == ["somewords", "\u00e4pfel"]


class TestIndexing:
    def matches(self, tests, *training):
        found = TestIndex(tests).matches(arrow(*training))
        rows = zip(found.training.tolist(), found.test.tolist(), found.exact.tolist(), strict=True)
        return sorted(rows)

    def test_equal_whatever_stands_between_the_letters(self):
        assert self.matches([A], B, "the Blue kettle, on the stove  was whistling") == [
            (1, 0, True)
        ]

    def test_equal_texts_have_one_number_and_empty_ones_none(self):
        assert TestIndex([A, "...", A.upper(), B]).numbers.tolist() == [0, -1, 0, 1]
        assert self.matches(["...", A], "", "!?") == []

    def test_thirteen_words_of_a_longer_text_are_near(self):
        cut = " ".join(LONG.split()[:13])
        assert self.matches([LONG], f"and then {cut} and more") == [(0, 0, False)]
        assert self.matches([LONG], " ".join(LONG.split()[:12])) == []

    def test_near_needs_half_of_the_words(self):
        half = LONG.split()[:13]
        assert self.matches([" ".join([*half, *"abcdefghijklm"])], " ".join(half)) == [
            (0, 0, False)
        ]
        assert self.matches([" ".join([*half, *"abcdefghijklmn"])], " ".join(half)) == []

    def test_words_in_two_sequences_count_once(self):
        tail = list("abcdefghijklmnopqrst")  # 35 words, of which 15 in three sequences
        assert self.matches([" ".join([*LONG.split(), *tail])], LONG) == []

    def test_a_sequence_does_not_go_from_one_text_to_the_next(self):
        first, second = " ".join(LONG.split()[:7]), " ".join(LONG.split()[7:])
        assert self.matches([LONG], first, second) == []

    def test_short_texts_are_compared_whole(self):
        assert self.matches(["Yes, of course."], "Yes, of course, I said.") == []

    def test_characters_of_japanese_are_words(self):
        text = "\u60a3\u8005\u306f\u6628\u65e5\u306e\u671d\u304b\u3089\u9ad8\u3044\u71b1"
        test = text + "\u304c\u3042\u308b"
        assert self.matches([test], f"\u307e\u305f{test}\u3068") == [(0, 0, False)]
        assert self.matches([test], text) == []  # twelve characters

    def test_boilerplate_is_not_indexed(self):
        tests = [f"{LONG} {number}" for number in range(101)]
        assert self.matches(tests, LONG) == []

    def test_no_tests(self):
        assert self.matches([], A) == []

    @settings(max_examples=10, deadline=None)
    @given(st.randoms(use_true_random=False))
    def test_near_against_plain_sets(self, random_):
        tests = [[random_.choice("ab") for _ in range(random_.randint(10, 30))] for _ in range(5)]
        training = [[random_.choice("ab") for _ in range(40)] for _ in range(5)]
        found = self.matches([*map(" ".join, tests)], *map(" ".join, training))
        numbers = TestIndex([*map(" ".join, tests)]).numbers.tolist()
        expected = set()
        for row, text in enumerate(training):
            grams = {tuple(text[i : i + 13]) for i in range(len(text) - 12)}
            for number, test in zip(numbers, tests, strict=True):
                covered = set()
                for i in range(len(test) - 12):
                    if tuple(test[i : i + 13]) in grams:
                        covered |= {*range(i, i + 13)}
                if covered and len(covered) >= len(test) / 2:
                    expected.add((row, number, False))
        assert set(found) == expected


TEXTS = ["first text", "second, \u00e4nother", "third"]
ROWS = [{"a": text, "n": number} for number, text in enumerate(TEXTS)]


def write_lines(path):
    path.write_text("\n".join(TEXTS) + "\n", "utf-8")


def write_json_lines(path):
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")


def write_csv(path):
    path.write_text("a,n\n" + "".join(f'"{r["a"]}",{r["n"]}\n' for r in ROWS), "utf-8")


def write_tsv(path):
    path.write_text("a\tn\n" + "".join(f"{r['a']}\t{r['n']}\n" for r in ROWS), "utf-8")


class TestReading:
    @pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
    @pytest.mark.parametrize(
        ("ending", "write", "columns"),
        [
            (".txt", write_lines, []),
            (".jsonl", write_json_lines, ["a"]),
            (".json", write_json_lines, []),
            (".csv", write_csv, ["a"]),
            (".tsv", write_tsv, ["a"]),
        ],
    )
    def test_text_formats(self, tmp_path, ending, write, columns, packed):
        plain = tmp_path / f"plain{ending}"
        write(plain)
        path = tmp_path / f"data{ending}{packed}"
        pack = {"": bytes, ".gz": gzip.compress, ".zst": zstd}[packed]
        path.write_bytes(pack(plain.read_bytes()))
        assert texts_of(path, columns) == TEXTS

    def test_parts_of_packed_files_follow_each_other(self, tmp_path):
        for ending, pack in ((".gz", gzip.compress), (".zst", zstd)):
            path = tmp_path / f"data.txt{ending}"
            path.write_bytes(pack(b"one\n") + pack(b"two\n"))
            assert texts_of(path) == ["one", "two"]

    def test_all_strings_of_json_at_any_depth(self, tmp_path):
        path = tmp_path / "data.jsonl"
        lines = [{"q": "one", "docs": [{"text": "two"}, ["three"]], "n": 1, "x": None}, "four"]
        path.write_text("\n\n".join(map(json.dumps, lines)), "utf-8")
        assert texts_of(path) == ["one", "two", "three", "four"]
        assert records_of(path) == [0, 0, 0, 2]

    def test_half_a_surrogate_pair(self, tmp_path):
        path = tmp_path / "data.jsonl"
        path.write_text('"a\\ud83d"', "utf-8")
        assert texts_of(path) == ["a?"]

    def table(self):
        kinds = {
            "s": pa.array(["s0", None]),
            "view": pa.array(["v0", "v1"], pa.string_view()),
            "dictionary": pa.array(["d0", "d1"]).dictionary_encode(),
            "list": pa.array([["l0", "l1"], None]),
            "large": pa.array([[], ["g1"]], pa.large_list(pa.string())),
            "struct": pa.array([{"x": "x0", "y": ["y0"]}, {"x": "x1", "y": []}]),
            "map": pa.array([[("k0", "m0")], []], pa.map_(pa.string(), pa.string())),
            "n": pa.array([1, 2]),
        }
        return pa.table(kinds)

    expected = {(0, t) for t in ("s0", "v0", "d0", "l0", "l1", "x0", "y0", "k0", "m0")} | {
        (1, t) for t in ("v1", "d1", "g1", "x1")
    }

    def test_parquet(self, tmp_path):
        path = tmp_path / "data.parquet"
        columns = [name for name in self.table().column_names if name != "view"]
        parquet.write_table(self.table().select(columns), path)
        found = set(zip(records_of(path), texts_of(path), strict=True))
        assert found == {row for row in self.expected if not row[1].startswith("v")}
        assert texts_of(path, ["s"]) == ["s0"]

    @pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
    def test_arrow(self, tmp_path, new):
        path = tmp_path / "data.arrow"
        with new(str(path), self.table().schema) as writer:
            writer.write_table(self.table())
        assert set(zip(records_of(path), texts_of(path), strict=True)) == self.expected

    def test_saved_datasets(self, tmp_path):
        from datasets import Dataset, DatasetDict

        train, dev = Dataset.from_list(ROWS), Dataset.from_dict({"a": ["dev"]})
        DatasetDict({"train": train, "dev": dev}).save_to_disk(str(tmp_path / "saved"))
        (tmp_path / "saved/train/cache-1.arrow").write_text("of a map")
        files = training_files([tmp_path / "saved"])
        assert [text for file in files for text in texts_of(file)] == ["dev", *TEXTS]

    def test_folders(self, tmp_path, caplog):
        (tmp_path / "in").mkdir()
        for name in ("b.txt", "in/a.csv.gz", "README.md", ".hidden.txt"):
            (tmp_path / name).write_text("x")
        found = training_files([tmp_path, tmp_path / "b.txt"])
        assert found == [tmp_path / "b.txt", tmp_path / "in/a.csv.gz"]
        assert "README.md" in caplog.text

    def test_csv_with_quotes_and_newlines(self, tmp_path):
        path = tmp_path / "data.csv"
        path.write_text('a,b\n"one, ""two""\nthree",four\n', "utf-8")
        assert texts_of(path) == ["a", "b", 'one, "two"\nthree', "four"]
        assert records_of(path) == [0, 0, 1, 1]

    def test_rows_of_another_length_are_counted(self, tmp_path, caplog):
        path = tmp_path / "data.tsv"
        path.write_text('a\tb\none\n"two\tthree\n', "utf-8")
        assert texts_of(path, ["a"]) == ['"two']
        assert "1 rows have another number of cells" in caplog.text

    def test_a_line_that_never_ends(self, tmp_path, monkeypatch):
        monkeypatch.setattr("mteb_ext.leaks.reading._BLOCK", 10)
        monkeypatch.setattr("mteb_ext.leaks.reading._LONGEST", 20)
        path = tmp_path / "data.txt"
        path.write_text("abcde " * 20 + "\nlast\n")
        found = texts_of(path)
        assert "".join(found[:-1]) == "abcde " * 20
        assert found[-1] == "last"
        assert max(map(len, found)) <= 30

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.txt", b"one\nt\0wo", "line 2 holds a NUL byte"),
            ("a.txt", b"one\n\xff", "line 2 is no UTF-8"),
            ("a.txt.gz", gzip.compress(os.urandom(1000))[:300], "cut off"),
            ("a.txt.gz", b"no gzip", "cut off"),
            ("a.txt.zst", b"no zstd", "cut off"),
            ("a.jsonl", b'{"a": "x"}\n{"a": ', "line 2 is no JSON"),
            ("a.json", b'[\n"x"\n]', "line 1 is no JSON"),
            ("a.parquet", b"PAR1nothing", "not readable as its ending says"),
            ("a.arrow", b"ARROW1", "not readable as its ending says"),
            ("a.csv", b"", "not readable as its ending says"),
        ],
    )
    def test_damaged_files_are_named(self, tmp_path, name, content, message):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(DataError, match=re.escape(message)) as caught:
            texts_of(path)
        assert str(path) in str(caught.value)

    def test_missing_column(self, tmp_path):
        path = tmp_path / "data.jsonl"
        write_json_lines(path)
        with pytest.raises(DataError, match=r"no column 'A'; there are a, n. Did you mean 'a'"):
            texts_of(path, ["A"])

    def test_what_is_no_training_data(self, tmp_path):
        os.mkfifo(tmp_path / "a.txt")
        (tmp_path / "b.docx").write_text("")
        (tmp_path / "empty").mkdir()
        for name, message in (
            ("a.txt", "is no regular file"),
            ("none.txt", "does not exist"),
            ("b.docx", "no kind of file"),
            ("empty", "holds no training data"),
        ):
            with pytest.raises(DataError, match=message):
                training_files([tmp_path / name])


def pair_set(*pairs, **options):
    items = tuple(
        Item(str(row), {"sentence1": (one,), "sentence2": (two,)}, ((one, two),))
        for row, (one, two) in enumerate(pairs)
    )
    return TestSet("Pairs", "test", "default", "1", "pair", items, **{"quotable": True, **options})


def seen_of(sets, *lines):
    """What is seen in training records, each of some texts."""
    seen = Seen(Lookup(sets))
    from mteb_ext.leaks.reading import Batch

    texts = [text for line in lines for text in line]
    records = [record for record, line in enumerate(lines) for _ in line]
    seen.take(Batch(arrow(*texts), np.array(records, np.int64), 0), "made-up")
    return seen.leaks("made-up/model")


class TestCounting:
    def test_a_pair_is_whole_in_one_record_only(self):
        [apart] = seen_of([pair_set((A, B))], [A], [B]).tasks
        assert (apart.any_text.exact, apart.whole.exact) == (1, 0)
        [together] = seen_of([pair_set((A, B))], [B.upper(), "between", A]).tasks
        assert (together.any_text.exact, together.whole.exact) == (1, 1)

    def test_near_is_counted_apart(self):
        longer = f"And {LONG} too"
        [found] = seen_of([pair_set((LONG, A), (B, LONG))], [longer, A]).tasks
        assert (found.any_text.exact, found.any_text.near) == (1, 1)
        assert (found.whole.exact, found.whole.near) == (0, 1)
        assert (found.exact_items, found.near_items) == (("0",), ("1",))
        assert [(side.texts, side.seen.exact, side.seen.near) for side in found.sides] == [
            (2, 0, 1),
            (2, 1, 1),
        ]

    def test_a_question_is_whole_with_an_answer(self):
        sides = {"question": ("Why so blue?",), "candidate": (A, B)}
        question = Item("Q1", sides, (("Why so blue?", A),), counts=False)
        found = TestSet("Q", "test", "default", "1", "question", (question,), True)
        [wrong] = seen_of([found], ["Why so blue?", B]).tasks
        assert (wrong.any_text.exact, wrong.whole.exact, wrong.headline_items) == (1, 0, 0)
        [right] = seen_of([found], ["Why so blue?", A]).tasks
        assert right.whole.exact == 1

    def test_a_task_is_wholly_in_its_own_test(self):
        for found in sets_of(["WikiQA.sample", "STSBenchmarkSemEval.sample", "QABot.sample"]):
            seen = Seen(Lookup([found]))
            seen.take(as_training(found), "itself")
            [part] = seen.leaks(None).tasks
            assert part.any_text.exact == part.items
            answered = [item for item in found.items if item.wholes]
            assert part.whole.exact == len(answered)

    def test_nothing_is_found_in_made_up_sentences(self):
        random_ = random.Random(0)
        nouns = [f"noun{i}" for i in range(300)]
        frames = ["The {} of the {} is a {} in {}.", "In {}, {} was the {} of {}."]

        def sentence():
            return random_.choice(frames).format(*random_.choices(nouns, k=4))

        tests = [(sentence(), sentence()) for _ in range(200)]
        flat = {text for pair in tests for text in pair}
        training = [text for text in (sentence() for _ in range(5000)) if text not in flat]
        [found] = seen_of([pair_set(*tests)], *([text] for text in training)).tasks
        assert found.any_text.seen == 0


class TestFile:
    def test_round_trip_and_edits(self, tmp_path):
        leaks = seen_of([pair_set((A, B))], [A, B])
        path = tmp_path / "leaks.json"
        write_leaks(path, leaks)
        assert read_leaks(path).tasks == leaks.tasks
        assert A not in path.read_text()
        path.write_text(path.read_text().replace('"exact": 1', '"exact": 0', 1))
        with pytest.raises(DataError, match="was edited"):
            read_leaks(path)

    def test_found_in_folders_of_results(self, tmp_path, caplog):
        leaks = seen_of([pair_set((A, B))], [A, B])
        write_leaks(tmp_path / "z.leaks.json", leaks)
        nameless = tmp_path / "below/leaks.json"
        nameless.parent.mkdir()
        write_leaks(nameless, leaks.model_copy(update={"model": None}))
        edited = tmp_path / "edited.leaks.json"
        edited.write_text(nameless.read_text().replace('"exact": 1', '"exact": 0', 1))
        folder = ResultsFolder(tmp_path)
        found = seen_in(folder)
        assert found == [SeenBy(model, leaks.tasks[0]) for model in ("", "made-up/model")]
        assert "edited.leaks.json was edited" in caplog.text
        assert folder.result_paths() == []
        (damaged,) = verify_results(tmp_path).findings
        assert (damaged.code, damaged.level, damaged.file) == ("damaged-leaks", "error", edited)
        assert damaged.reason.startswith("was edited: its digest is another.")
        first, last = seen_table(found).rows
        all_of_it = "1 of 1 (100.0%)"
        assert last[:4] == ("made-up/model", "Pairs", "test", "default")
        assert last[4:] == ("1 pairs", all_of_it, all_of_it, all_of_it)
        assert first[0] == "a model without a name"

    @pytest.mark.parametrize("content", ["[]", "{}", "no JSON", '{"model": 3}'])
    def test_other_content(self, tmp_path, content):
        path = tmp_path / "leaks.json"
        path.write_text(content)
        with pytest.raises(DataError, match=r"is no leaks\.json"):
            read_leaks(path)


class TestTwoSamples:
    def test_mean_is_exact_for_few(self):
        # All 20 splits of 6 values in threes: 2 have as large a t, the given one and its mirror.
        found = mean_difference([4.0, 5.0, 6.0], [1.0, 2.0, 3.0])
        assert found.difference == 3
        assert found.p == pytest.approx(2 / 20)

    def test_equal_values(self):
        assert mean_difference([1.0, 1.0], [1.0, 1.0, 1.0]) == (0.0, 1.0)

    @pytest.mark.parametrize("method", ["pearson", "spearman"])
    def test_correlations(self, method):
        random_ = np.random.default_rng(1)
        gold = random_.normal(size=120)
        close, far = gold + 0.2 * random_.normal(size=120), random_.normal(size=120)
        seen = (close[:60], gold[:60])
        apart = correlation_difference(seen, (far[60:], gold[60:]), method)
        alike = correlation_difference(seen, (close[60:], gold[60:]), method)
        assert apart.difference > 0.5
        assert apart.p < 0.01
        assert alike.p > 0.05


class TestCommand:
    def test_tables_and_file(self, tmp_path, capsys):
        [found] = sets_of(["WikiQA.sample"])
        answer = found.items[0].texts["candidate"][0]
        path, output = tmp_path / "train.txt", tmp_path / "leaks.json"
        path.write_text(f"Something else\n{answer.upper()}\n", "utf-8")
        arguments = ["leak", str(path), "-t", "WikiQA.sample", "-o", str(output)]
        assert main([*arguments, "--model", "org/model"]) == 0
        printed = capsys.readouterr().out
        assert "training data of org/model: 1 files, 2 texts" in printed
        assert answer not in printed
        assert read_leaks(output).tasks[0].any_text.exact >= 1
        assert main([*arguments, "--show"]) == 0
        assert answer[:50] in capsys.readouterr().out

    def test_what_may_not_be_shown_is_not(self, tmp_path, capsys, monkeypatch):
        quiet = pair_set((A, B), quotable=False)
        monkeypatch.setattr("mteb_ext.leaks.items.sets_of", lambda names: [quiet])
        path = tmp_path / "train.txt"
        path.write_text(A)
        assert main(["leak", str(path), "-t", "Pairs", "--show"]) == 0
        printed = capsys.readouterr().out
        assert "1 of 1" in printed
        assert A not in printed

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "say what to look up and where"),
            (["train.txt"], "does not exist"),
            (["--self", "-t", "WikiQA"], "--self has its own data"),
        ],
    )
    def test_refusals(self, capsys, arguments, message):
        assert main(["leak", *arguments]) == 1
        assert message in capsys.readouterr().err

    def test_name_of_the_file(self, tmp_path, capsys):
        path = tmp_path / "a.txt"
        path.write_text(A)
        output = str(tmp_path / "out.json")
        assert main(["leak", str(path), "-t", "WikiQA.sample", "-o", output]) == 1
        assert "end in leaks.json" in capsys.readouterr().err


@pytest.mark.real_data
class TestPapers:
    def found(self, task, *training, subset=None):
        from mteb_ext.leaks.items import paper_set
        from mteb_ext.plugin.lookup import paper_task

        sets = [found for found in sets_of([task]) if subset in {None, found.subset}]
        seen = Seen(Lookup(sets))
        for name, split in training:
            seen.take(as_training(paper_set(paper_task(name), split, "default")), name)
        return seen.leaks(None).tasks[0]

    def test_figures(self):
        wikiqa = self.found("WikiQA", ("WikiQA", "train"))
        sides = {side.name: (side.seen.exact, side.texts) for side in wikiqa.sides}
        assert sides == {"question": (1, 633), "candidate": (739, 5951)}
        stsb = self.found("STSBenchmarkSemEval", ("STSBenchmarkSemEval", "train"))
        assert (stsb.sides[0].seen.exact, stsb.sides[0].texts) == (138, 1255)
        track = self.found("STS17SemEval", ("STSBenchmarkSemEval", "test"), subset="5-en-en")
        assert track.whole.exact == 125

    def test_wikiqa_by_plain_means(self):
        """The same count by a regular expression, without this package's own folding."""

        def plain(name):
            from mteb_ext import load_dataset

            texts = load_dataset("WikiQA", name, raw=True)["candidate"]
            folded = (unicodedata.normalize("NFKC", text).casefold() for text in texts)
            return {re.sub(r"[\W_]+", "", text) for text in folded}

        assert len(plain("train") & plain("test")) == 739
