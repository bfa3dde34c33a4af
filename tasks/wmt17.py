"""The WMT17 metrics task, segment level, to English (Bojar et al. 2017; arXiv 1907.12679)."""

from __future__ import annotations

import hashlib

from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext.bases import PaperSTS
from mteb_ext.data.readers import read_da_rows, read_number_lines, read_text_lines
from mteb_ext.data.records import Pairs
from mteb_ext.data.sources import Source
from mteb_ext.errors import DataError
from mteb_ext.protocol import CorrelationProtocol, PairFacts

JUDGEMENTS_COMMIT = "2026e18c8874e5659ea6c03f82ec3e600d0feac1"
JUDGEMENTS = f"AIPHES/ACL20-Reference-Free-MT-Evaluation/{JUDGEMENTS_COMMIT}"
TEXTS = "qingsongma/blend/5ed1fa1a6c24c5915233b6434c99985b1628f154/sample/data/data"

LANGUAGES = {
    "cs-en": "ces-Latn",
    "de-en": "deu-Latn",
    "fi-en": "fin-Latn",
    "lv-en": "lav-Latn",
    "ru-en": "rus-Cyrl",
    "tr-en": "tur-Latn",
    "zh-en": "cmn-Hans",
}
TRAINING_SETS = {
    "da-wmt15": ("newstest2015", ("cs", "de", "fi", "ru")),
    "da-wmt16": ("DAseg-newstest2016", ("cs", "de", "fi", "ro", "ru", "tr")),
}
TRAINING_SEED = 17
TRAINING_PAIRS, DEV_PAIRS = 4824, 536

CITATION = r"""
@inproceedings{bojar-etal-2017-results,
  author = {Bojar, Ond{\v{r}}ej and Graham, Yvette and Kamran, Amir},
  booktitle = {Proceedings of the Second Conference on Machine Translation},
  doi = {10.18653/v1/W17-4755},
  pages = {489--513},
  title = {Results of the {WMT}17 Metrics Shared Task},
  year = {2017},
}

@misc{shimanaka2019machine,
  author = {Shimanaka, Hiroki and Kajiwara, Tomoyuki and Komachi, Mamoru},
  note = {arXiv:1907.12679},
  title = {Machine Translation Evaluation with {BERT} Regressor},
  year = {2019},
}
"""


def _metadata(name: str, description: str, languages: dict[str, list[str]]) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        adapted_from=["WMT17Metrics"] if name.endswith("QE") else None,
        description=description,
        reference="https://aclanthology.org/W17-4755/",
        dataset={
            "path": "AIPHES/ACL20-Reference-Free-MT-Evaluation",
            "revision": JUDGEMENTS_COMMIT,
        },
        type="STS",
        category="t2t",
        eval_splits=["test"],
        eval_langs=languages,
        main_score="pearson",
        date=("2017-01-01", "2017-09-30"),
        domains=["News", "Written"],
        task_subtypes=[],
        license="not specified",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="machine-translated",
        bibtex_citation=CITATION,
    )


def _protocol(training: tuple[str, str], tests: dict[str, str]) -> CorrelationProtocol:
    train, dev = training
    return CorrelationProtocol(
        headline="pearson",
        source="arXiv 1907.12679: Pearson of score and Direct Assessment by language pair, averaged",
        facts={
            "train": {"default": PairFacts(TRAINING_PAIRS, train)},
            "dev": {"default": PairFacts(DEV_PAIRS, dev)},
            "test": {pair: PairFacts(560, fingerprint) for pair, fingerprint in tests.items()},
        },
    )


class WMT17Metrics(PaperSTS):
    """Reference against machine translation: 560 segments for each of seven language pairs.

    The headline is the mean of the seven correlations, never one over all 3,920 segments.
    """

    metadata = _metadata(
        "WMT17Metrics",
        "WMT17 metrics task, segment level: similarity of reference and machine translation against "
        "human judgements.",
        {pair: ["eng-Latn"] for pair in LANGUAGES},
    )
    protocol = _protocol(
        (
            "ae78dbb25c621b9e7125e50ef46569e518ae9dc58118a51a084e29802ede2251",
            "1133c2a49d4547c46942027de2f26854b5bcb980a07411fa36338aa03dd25546",
        ),
        {
            "cs-en": "7ba94ab3f0cca62dd89ee0f7bf2d114be49e1b4d2aa33f3794ccd8369c951554",
            "de-en": "e081e8d918225e4923edeb84265839f18008f54e88934a9ec0da3607751fa5ea",
            "fi-en": "54195239e08aba23aac90c933e10563cd2507bfdee2b6355112a9fdd80652c57",
            "lv-en": "f7fdcc4450a88a40e0f5b428585f9df30a13028257bcefa6f04752fc7152ac89",
            "ru-en": "6e89179ed6cce2b43d8d13c8e01b7887f67d0f6d92b8fe77d79e7db65a579638",
            "tr-en": "6ddfbdce9623c5b1e7448a201fef2b96e31d02bbab31f8f2499d1073e4625b8a",
            "zh-en": "bbbeccc5beb6fece7cae4798040e5ff237a70833adf13317f6abe480dc1f7ea1",
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read reference, translation and score."""
        return _read(source, split, subset, "reference")


class WMT17MetricsQE(PaperSTS):
    """Source against machine translation, without a reference: quality estimation."""

    metadata = _metadata(
        "WMT17MetricsQE",
        "WMT17 metrics task, segment level, without references: similarity of source and machine "
        "translation against human judgements.",
        {pair: [language, "eng-Latn"] for pair, language in LANGUAGES.items()},
    )
    protocol = _protocol(
        (
            "5464a9907e799d0a1cf5fb04dd1747b0f450fe27413a59fa8427631ba54128ac",
            "cbbc1154b1863de92b35fcb6e6c3f07afa5d47daff687a0c92bbad65eac9cf1d",
        ),
        {
            "cs-en": "bc25fa2f54e17d85749e59debd6606a31a50ec5b4e8de66eed96d358f27ea11a",
            "de-en": "742e40284e9c8804596746b26fd3264c109df8d049ad9864c87574627d9865c3",
            "fi-en": "9270bc3767b7f7cfe8f85fa8c25f4609e12cc8cc8747e71e5831d28ac19795a7",
            "lv-en": "576bc7c51c6d0b34eb2564e6a30239f1dce69ebeede9bb311f2264b1313e8ebf",
            "ru-en": "1c15d8a07a50a6c971a20ca17a3a8c0c8b008ed3f0edfe704bd7d48e7880611b",
            "tr-en": "410a9d0324b924c68c49b2c42392a248da99a044bd099c63e066736d82ac6859",
            "zh-en": "81886b1a4f7937a9f43aad48581454d12c39e0b61f3a9ebc97f83c0ca8dc4795",
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read source, translation and score."""
        return _read(source, split, subset, "source")


def _read(source: Source, split: str, subset: str, against: str) -> Pairs:
    if split == "test":
        return _read_test(source, subset, against)
    return _training_part(_read_training(source, against), split)


def _read_test(source: Source, pair: str, against: str) -> Pairs:
    language = pair.removesuffix("-en")
    names = {
        "reference": f"references/newstest2017-{language}en-ref.en",
        "source": f"sources/newstest2017-{language}en-src.{language}",
    }
    others = read_text_lines(source.file(TEXTS, f"wmt17/{names[against]}"))
    outputs: dict[str, list[str]] = {}
    pairs = Pairs([], [], [])
    for row_pair, system, segment, score in read_da_rows(
        source.file(JUDGEMENTS, "WMT17/DA-seglevel.csv")
    ):
        if row_pair != pair:
            continue
        if system not in outputs:
            name = f"wmt17/system-outputs/newstest2017/{pair}/newstest2017.{system}.{pair}"
            outputs[system] = read_text_lines(source.file(TEXTS, name))
        if not 0 < segment <= min(len(others), len(outputs[system])):
            raise DataError(f"segment {segment} of {system} ({pair}) is in no text file")
        pairs.sentence1.append(others[segment - 1])
        pairs.sentence2.append(outputs[system][segment - 1])
        pairs.score.append(score)
    return pairs


def _read_training(source: Source, against: str) -> Pairs:
    pairs = Pairs([], [], [])
    for folder, (test_set, languages) in TRAINING_SETS.items():
        for pair in (f"{language}-en" for language in languages):
            first, second, scores = (
                source.file(TEXTS, f"{folder}/{pair}/{test_set}.{kind}.{pair}")
                for kind in (against, "mt-system", "human")
            )
            pairs.sentence1.extend(read_text_lines(first))
            pairs.sentence2.extend(read_text_lines(second))
            pairs.score.extend(read_number_lines(scores))
    if not len(pairs.sentence1) == len(pairs.sentence2) == len(pairs.score):
        raise DataError(
            f"the training files have {len(pairs.sentence1)}, {len(pairs.sentence2)} "
            f"and {len(pairs.score)} lines"
        )
    return pairs


def _training_part(pairs: Pairs, split: str) -> Pairs:
    """One part of a fixed random division: the paper's own 4,824 and 536 were not published.

    Rows are ordered by a hash, which no version of a random generator can change, and the first of
    them are dev; each part keeps the order of the files.
    """

    def draw(row: int) -> bytes:
        return hashlib.sha256(f"{TRAINING_SEED}:{row}".encode()).digest()

    n_dev = round(len(pairs) * DEV_PAIRS / (TRAINING_PAIRS + DEV_PAIRS))
    dev = set(sorted(range(len(pairs)), key=draw)[:n_dev])
    rows = [row for row in range(len(pairs)) if (row in dev) == (split == "dev")]
    return Pairs(
        [pairs.sentence1[row] for row in rows],
        [pairs.sentence2[row] for row in rows],
        [pairs.score[row] for row in rows],
    )
