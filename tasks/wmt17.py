"""The WMT17 metrics task, segment level, to English (Bojar et al. 2017; arXiv 1907.12679)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext import papers
from mteb_ext.bases import PaperSTS
from mteb_ext.data.readers import read_da_rows, read_number_lines, read_text_lines
from mteb_ext.data.records import Pairs, Segment
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
    "da-wmt15": ("newstest2015", 500, ("cs-en", "de-en", "fi-en", "ru-en")),
    "da-wmt16": (
        "DAseg-newstest2016",
        560,
        ("cs-en", "de-en", "fi-en", "ro-en", "ru-en", "tr-en"),
    ),
}
TRAINING_SEED = 17
ASK_FIRST = (
    "No licence is stated: the organisers of WMT let the data be used for research, and ask for a "
    "citation. Ask them before you upload this folder, and put their answer into the card."
)


def _metadata(
    name: str,
    description: str,
    prompt: str,
    languages: dict[str, list[str]],
    adapted_from: list[str] | None = None,
) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        adapted_from=adapted_from,
        description=description,
        reference=papers.WMT17.url,
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
        prompt=prompt,
        bibtex_citation=papers.bibtex(papers.WMT17, papers.BERT_REGRESSOR),
    )


def _protocol(fingerprints: dict[str, dict[str, str]]) -> CorrelationProtocol:
    return CorrelationProtocol(
        headline="pearson",
        source="arXiv 1907.12679: Pearson of score and Direct Assessment by language pair, averaged",
        facts={
            split: {
                pair: PairFacts(_segments(split, pair), digest) for pair, digest in by_pair.items()
            }
            for split, by_pair in fingerprints.items()
        },
    )


def _segments(split: str, pair: str) -> int:
    """560 of every pair in test; a tenth of those of the two earlier years is dev."""
    if split == "test":
        return 560
    total = sum(n for _, n, pairs in TRAINING_SETS.values() if pair in pairs)
    return total // 10 if split == "dev" else total - total // 10


class WMT17Metrics(PaperSTS):
    """Reference against machine translation: 560 segments for each of seven language pairs.

    The headline is the mean of the seven correlations, never one over all 3,920 segments.
    """

    paper = papers.BERT_REGRESSOR
    ask_first = ASK_FIRST
    metadata = _metadata(
        "WMT17Metrics",
        "WMT17 metrics task, segment level: similarity of reference and machine translation against "
        "human judgements.",
        "Retrieve text that has the same meaning.",
        {pair: ["eng-Latn"] for pair in LANGUAGES},
    )
    protocol = _protocol(
        {
            "train": {
                "cs-en": "79696706fd5ba6b8ab7f32afa4fa438c245191d043ac714ed3b61f493d255829",
                "de-en": "c3f3d1e784d1990748e99db7970a6f74629cde7fcac6c8a5fa6b889d50985b26",
                "fi-en": "45e873a9ca17042a924c29e066b27f4161822507245a062ab681e293368dd1df",
                "ro-en": "908f426fbc7da43c9639f086f26ee1dc00a64d26db8228118f122fa2b2d2462d",
                "ru-en": "301152dd329d4020a66a759fe9d293f834ded077f47d76fd527d120bf4894282",
                "tr-en": "64bf929915330b4772e0b3f5de18ace54810cab826ffa62d5ea1b3cb6a6d039a",
            },
            "dev": {
                "cs-en": "bc817d36b41828e577312a5ed7f65a95f09d68ee880ae271861a9e4e7cba8ffc",
                "de-en": "920608efc52579ee7797bf2bc1d7311b4a34b5c525b48dee14cf499b38ef806d",
                "fi-en": "1c737a9b98fb5ddc99c5bb5d2d1ebfcc8a2329e3686445621f71d94629675550",
                "ro-en": "195243260741c1e470cad6867ef491607a464cfbc6e6b3bfaa452ff07c2db72e",
                "ru-en": "8a4e42279fee42d69a8cdcd0f78d75e609ec29cf9718829c90efbd7831ca823c",
                "tr-en": "31556d71f87be64bf81fd6f1a0531cde4568aecc7b2efa23179c74342f588ddb",
            },
            "test": {
                "cs-en": "7ba94ab3f0cca62dd89ee0f7bf2d114be49e1b4d2aa33f3794ccd8369c951554",
                "de-en": "e081e8d918225e4923edeb84265839f18008f54e88934a9ec0da3607751fa5ea",
                "fi-en": "54195239e08aba23aac90c933e10563cd2507bfdee2b6355112a9fdd80652c57",
                "lv-en": "f7fdcc4450a88a40e0f5b428585f9df30a13028257bcefa6f04752fc7152ac89",
                "ru-en": "6e89179ed6cce2b43d8d13c8e01b7887f67d0f6d92b8fe77d79e7db65a579638",
                "tr-en": "6ddfbdce9623c5b1e7448a201fef2b96e31d02bbab31f8f2499d1073e4625b8a",
                "zh-en": "bbbeccc5beb6fece7cae4798040e5ff237a70833adf13317f6abe480dc1f7ea1",
            },
        }
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read reference, translation and score."""
        return _read(source, split, subset, "reference")

    @classmethod
    def segments(cls, source: Source, split: str, subset: str) -> list[Segment] | None:
        """The segments of the test split, from the file of human scores."""
        return _segments_of(source, subset) if split == "test" else None


class WMT17MetricsQE(PaperSTS):
    """Source against machine translation, without a reference: quality estimation."""

    paper = papers.BERT_REGRESSOR
    ask_first = ASK_FIRST
    metadata = _metadata(
        "WMT17MetricsQE",
        "WMT17 metrics task, segment level, without references: similarity of source and machine "
        "translation against human judgements.",
        "Retrieve text in the other language that has the same meaning.",
        {pair: [language, "eng-Latn"] for pair, language in LANGUAGES.items()},
        adapted_from=["WMT17Metrics"],
    )
    protocol = _protocol(
        {
            "train": {
                "cs-en": "36d18890ae18d41737d62a18470df14e92efbbe51d2efcb2fd3e9e53db4aa67f",
                "de-en": "d03b0ad2516bf143ba0b6411abca71d744fa018c508505129d87ae45f55af340",
                "fi-en": "503e432280269692da6592d681845e082c3b767adc170183a2d45136c79c17dd",
                "ro-en": "0249aae904c91b39a7896834b6ca78816d53840c87a69443bdc472b9d170a2b0",
                "ru-en": "4a8882bf9fe8cf440c067a7b9ec5731217a2fbe004b191216f3292c4c857391b",
                "tr-en": "d89e3bb128d2c0a64f38f0cdbc6236ff7f3ab8576dc8152f555d6d3bc7b4b8a1",
            },
            "dev": {
                "cs-en": "f33bfec093e6cf312f6b63d98907590b123b5afb16ed552254ff8ba4715ef2b0",
                "de-en": "c36dd505640ed8716d573ac516be05e1ba3d84ab8cd718a62aa4695d5a6e3af5",
                "fi-en": "a50f1f3ec0aed58547a2f4900ef7ed6295e38a9bb1b8f077e5df4659f2185f39",
                "ro-en": "ec98f3546a9df6517e6a6a137bb469be1669a44f4e8e4683e62d16d92dc27a49",
                "ru-en": "a0188472280364efb2a72963b87a32cc43830056ed4ac04ce850519956f15d1b",
                "tr-en": "6310810f61b6413a4744251577a4f5d42bb636a48b76c840de7e52e42f0501df",
            },
            "test": {
                "cs-en": "bc25fa2f54e17d85749e59debd6606a31a50ec5b4e8de66eed96d358f27ea11a",
                "de-en": "742e40284e9c8804596746b26fd3264c109df8d049ad9864c87574627d9865c3",
                "fi-en": "9270bc3767b7f7cfe8f85fa8c25f4609e12cc8cc8747e71e5831d28ac19795a7",
                "lv-en": "576bc7c51c6d0b34eb2564e6a30239f1dce69ebeede9bb311f2264b1313e8ebf",
                "ru-en": "1c15d8a07a50a6c971a20ca17a3a8c0c8b008ed3f0edfe704bd7d48e7880611b",
                "tr-en": "410a9d0324b924c68c49b2c42392a248da99a044bd099c63e066736d82ac6859",
                "zh-en": "81886b1a4f7937a9f43aad48581454d12c39e0b61f3a9ebc97f83c0ca8dc4795",
            },
        }
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> Pairs:
        """Read source, translation and score."""
        return _read(source, split, subset, "source")

    @classmethod
    def segments(cls, source: Source, split: str, subset: str) -> list[Segment] | None:
        """The segments of the test split, from the file of human scores."""
        return _segments_of(source, subset) if split == "test" else None


def _read(source: Source, split: str, pair: str, against: str) -> Pairs:
    if split == "test":
        return _read_test(source, pair, against)
    return _training_part(_read_training(source, pair, against), split, pair)


def _read_test(source: Source, pair: str, against: str) -> Pairs:
    language = pair.removesuffix("-en")
    names = {
        "reference": f"references/newstest2017-{language}en-ref.en",
        "source": f"sources/newstest2017-{language}en-src.{language}",
    }
    others = read_text_lines(source.file(TEXTS, f"wmt17/{names[against]}"))
    outputs: dict[str, list[str]] = {}
    pairs = Pairs([], [], [])
    for segment, score in _judgements(source, pair):
        system, number = segment.systems[0], segment.number
        if system not in outputs:
            name = f"wmt17/system-outputs/newstest2017/{pair}/newstest2017.{system}.{pair}"
            outputs[system] = read_text_lines(source.file(TEXTS, name))
        if not 0 < number <= min(len(others), len(outputs[system])):
            raise DataError(f"segment {number} of {system} ({pair}) is in no text file")
        pairs.sentence1.append(others[number - 1])
        pairs.sentence2.append(outputs[system][number - 1])
        pairs.score.append(score)
    return pairs


def _judgements(source: Source, pair: str) -> Iterator[tuple[Segment, float]]:
    """The judged segments of a language pair, in the order of the file, with the human scores."""
    for row_pair, segment, score in read_da_rows(source.file(JUDGEMENTS, "WMT17/DA-seglevel.csv")):
        if row_pair == pair:
            yield segment, score


def _segments_of(source: Source, pair: str) -> list[Segment]:
    return [segment for segment, _ in _judgements(source, pair)]


def _read_training(source: Source, pair: str, against: str) -> Pairs:
    pairs = Pairs([], [], [])
    for folder, (test_set, _, language_pairs) in TRAINING_SETS.items():
        if pair not in language_pairs:
            continue
        files = [
            source.file(TEXTS, f"{folder}/{pair}/{test_set}.{kind}.{pair}")
            for kind in (against, "mt-system", "human")
        ]
        others, outputs = map(read_text_lines, files[:2])
        scores = read_number_lines(files[2])
        if not len(others) == len(outputs) == len(scores):
            raise DataError(
                f"{', '.join(map(str, files))} have {len(others)}, {len(outputs)} and "
                f"{len(scores)} lines: they belong together line by line"
            )
        pairs.sentence1.extend(others)
        pairs.sentence2.extend(outputs)
        pairs.score.extend(scores)
    return pairs


def _training_part(pairs: Pairs, split: str, pair: str) -> Pairs:
    """One part of a fixed random division: the paper's own 4,824 and 536 were not published.

    Of each language pair the rows are ordered by a hash, which no version of a random generator can
    change, and the first tenth of them is dev; each part keeps the order of the files. The tenths
    make the paper's 536.
    """

    def draw(row: int) -> bytes:
        return hashlib.sha256(f"{TRAINING_SEED}:{pair}:{row}".encode()).digest()

    dev = set(sorted(range(len(pairs)), key=draw)[: len(pairs) // 10])
    rows = [row for row in range(len(pairs)) if (row in dev) == (split == "dev")]
    return Pairs(
        [pairs.sentence1[row] for row in rows],
        [pairs.sentence2[row] for row in rows],
        [pairs.score[row] for row in rows],
    )
