"""TREC-QA: answer sentence selection in newswire, as TANDA evaluates it (arXiv 1911.04118)."""

from __future__ import annotations

from mteb.abstasks.task_metadata import TaskMetadata

from mteb_ext import papers
from mteb_ext.bases import PaperRanking
from mteb_ext.data.readers import read_json_questions, read_trecqa
from mteb_ext.data.records import Question
from mteb_ext.data.sources import Source
from mteb_ext.protocol import QuestionFacts, QuestionFilter, QuestionSet, RankingProtocol

MASKED_COMMIT = "9b781db8cac9a132b6e97e7a21946a66c945aedf"
MASKED = f"mcrisc/lexdecomp/{MASKED_COMMIT}"
UNMASKED_COMMIT = "056cbbcbf997cc0b35032430110c5e5e5525700a"
UNMASKED = f"castorini/data/{UNMASKED_COMMIT}"
DEV_TOKENS = 40
NEWSWIRE = (
    "no licence is stated, and the sentences are newswire that the Linguistic Data Consortium and "
    "NIST give out under agreements"
)


def _metadata(
    name: str,
    description: str,
    dataset: dict[str, str],
    citation: str,
    adapted_from: list[str] | None = None,
) -> TaskMetadata:
    return TaskMetadata(
        name=name,
        adapted_from=adapted_from,
        description=description,
        reference=papers.TRECQA.url,
        dataset=dataset,
        type="Reranking",
        category="t2t",
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score="map",
        date=("1999-01-01", "2004-12-31"),  # the question answering tracks of TREC 8 to 13
        domains=["News", "Written"],
        task_subtypes=["Question answering"],
        license="not specified",
        annotations_creators="human-annotated",
        dialect=[],
        sample_creation="found",
        prompt={"query": "Given a question, retrieve the sentences that answer it."},
        bibtex_citation=citation,
    )


class TRECQA(PaperRanking):
    """68 test questions with at least one correct and one incorrect answer ("clean").

    The rule is another than WikiQA's. All 95 questions that have candidates are reported as
    ``map_raw``; in that average a question without a correct answer counts as 0.

    The files are the ones that TANDA used, with numbers masked as ``<num>``. The paper's 65 dev
    questions are the clean ones of the candidates of at most 40 tokens; train is used whole.
    """

    paper = papers.TANDA
    withheld = NEWSWIRE
    metadata = _metadata(
        "TRECQA",
        "Selection of the newswire sentences that answer a TREC question; numbers are masked.",
        {"path": "mcrisc/lexdecomp", "revision": MASKED_COMMIT},
        papers.bibtex(papers.TRECQA, papers.TANDA),
    )
    protocol = RankingProtocol(
        headline="map",
        source="arXiv 1911.04118: MAP and MRR over the entire candidate set of each question",
        keep=QuestionFilter.BOTH,
        also=QuestionSet("raw", QuestionFilter.WITH_CANDIDATES),
        unfiltered=frozenset({"train"}),
        facts={
            "train": QuestionFacts(
                questions=1229,
                rows=53_417,
                relevant=6410,
                kept=1229,
                kept_rows=53_417,
                fingerprint="89dacf8ec6a01d909f245185c72f7f68bc9c1f581bc73528b933ac280de0a08c",
            ),
            "dev": QuestionFacts(
                questions=82,
                rows=1148,
                relevant=222,
                kept=65,
                kept_rows=1117,
                fingerprint="7da34eaba016b8af1881b18ba3685e418dfde63c8cd5c931c5deb58882043bee",
            ),
            "test": QuestionFacts(
                questions=100,
                rows=1517,
                relevant=284,
                kept=68,
                kept_rows=1442,
                fingerprint="c231902751c1c34b65d08f7dec084379cd807c75b1841811b6d252649ad9204f",
            ),
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> list[Question]:
        """Read one split's file; of dev the candidates of at most 40 tokens."""
        name = {"train": "train-all.jsonl.gz"}.get(split, f"{split}.jsonl")
        questions = read_json_questions(source.file(MASKED, f"trec-qa/{name}"))
        return [_shortened(q) for q in questions] if split == "dev" else questions


class TRECQAUnmasked(PaperRanking):
    """The same questions and candidates with their numbers in place: another text than TANDA's.

    Many later papers use this edition. A score on it does not compare with TANDA's figures. Its
    training set is the manually judged part, 94 questions, used whole.
    """

    withheld = NEWSWIRE
    metadata = _metadata(
        "TRECQAUnmasked",
        "Selection of the newswire sentences that answer a TREC question, in an edition with "
        "numbers in place. Not the text of TANDA's figures: for those use TRECQA.",
        {"path": "castorini/data", "revision": UNMASKED_COMMIT},
        papers.bibtex(papers.TRECQA),
        adapted_from=["TRECQA"],
    )
    protocol = RankingProtocol(
        headline="map",
        source="TRECQA's protocol, arXiv 1911.04118, on another edition of the text",
        keep=QuestionFilter.BOTH,
        also=QuestionSet("raw", QuestionFilter.WITH_CANDIDATES),
        unfiltered=frozenset({"train"}),
        facts={
            "train": QuestionFacts(
                questions=94,
                rows=4718,
                relevant=348,
                kept=93,
                kept_rows=4718,
                fingerprint="5e57675cf620348859dd141fad3fa023f75769e34835a388a71f5621fdcf1fb6",
            ),
            "dev": QuestionFacts(
                questions=82,
                rows=1148,
                relevant=222,
                kept=65,
                kept_rows=1117,
                fingerprint="5b54314696e9139e6617b32856653323f8962f48055f2a955ee8f68eb3ef9aca",
            ),
            "test": QuestionFacts(
                questions=100,
                rows=1517,
                relevant=284,
                kept=68,
                kept_rows=1442,
                fingerprint="3a71d1dc7b7c0acbba9316ff77bd4789ee580978a3d8c706c37676bf9d5f99f2",
            ),
        },
    )

    @classmethod
    def read(cls, source: Source, split: str, subset: str) -> list[Question]:
        """Read one split's file."""
        return read_trecqa(source.file(UNMASKED, f"TrecQA/data/{split.upper()}.xml"))


def _shortened(question: Question) -> Question:
    """The question with its candidates of at most 40 tokens, which white space separates."""
    short = Question(question.id, question.text, [], [], [])
    rows = zip(question.candidate_ids, question.candidates, question.labels, strict=True)
    for candidate_id, candidate, label in rows:
        if len(candidate.split()) <= DEV_TOKENS:
            short.candidate_ids.append(candidate_id)
            short.candidates.append(candidate)
            short.labels.append(label)
    return short
