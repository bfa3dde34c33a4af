"""The papers behind the tasks, models and published numbers: each stands here, and only here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PAPERS", "Paper", "bibtex"]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper, as it is cited.

    Attributes:
        key: The citation key of its BibTeX entry.
        title: Its title.
        url: Where it can be read.
        bibtex: Its BibTeX entry.
    """

    key: str
    title: str
    url: str
    bibtex: str


def _paper(kind: str, key: str, url: str, **fields: str) -> Paper:
    """A paper from the fields of its BibTeX entry; braces guard capitals in the BibTeX title."""
    entries = "".join(f"  {name} = {{{value}}},\n" for name, value in sorted(fields.items()))
    title = fields["title"].replace("{", "").replace("}", "")
    return Paper(key, title, url, f"@{kind}{{{key},\n{entries}}}\n")


SDJC = _paper(
    "misc",
    "chen2025domain",
    "https://arxiv.org/abs/2503.09094",
    author="Chen, Zihao and Handa, Hisashi and Ohsaki, Miho and Shirahama, Kimiaki",
    note="arXiv:2503.09094",
    title="Domain Adaptation for {J}apanese Sentence Embeddings with Contrastive Learning based on "
    "Synthetic Sentence Generation",
    year="2025",
)
JACSTS = _paper(
    "article",
    "mutinda2021semantic",
    "https://github.com/sociocom/Japanese-Clinical-STS",
    author="Mutinda, Faith Wavinya and Yada, Shuntaro and Wakamiya, Shoko and Aramaki, Eiji",
    doi="10.1055/s-0041-1731390",
    journal="Methods of Information in Medicine",
    number="S 01",
    pages="e56--e64",
    title="Semantic Textual Similarity in {J}apanese Clinical Domain Texts Using {BERT}",
    volume="60",
    year="2021",
)
TANDA = _paper(
    "article",
    "garg2020tanda",
    "https://arxiv.org/abs/1911.04118",
    author="Garg, Siddhant and Vu, Thuy and Moschitti, Alessandro",
    doi="10.1609/aaai.v34i05.6282",
    journal="Proceedings of the AAAI Conference on Artificial Intelligence",
    note="arXiv:1911.04118",
    number="05",
    pages="7780--7788",
    title="{TANDA}: Transfer and Adapt Pre-Trained Transformer Models for Answer Sentence "
    "Selection",
    volume="34",
    year="2020",
)
WIKIQA = _paper(
    "inproceedings",
    "yang-etal-2015-wikiqa",
    "https://aclanthology.org/D15-1237/",
    author="Yang, Yi and Yih, Wen-tau and Meek, Christopher",
    booktitle="Proceedings of the 2015 Conference on Empirical Methods in Natural Language "
    "Processing",
    doi="10.18653/v1/D15-1237",
    pages="2013--2018",
    title="{W}iki{QA}: A Challenge Dataset for Open-Domain Question Answering",
    year="2015",
)
TRECQA = _paper(
    "inproceedings",
    "wang-etal-2007-jeopardy",
    "https://aclanthology.org/D07-1003/",
    author="Wang, Mengqiu and Smith, Noah A. and Mitamura, Teruko",
    booktitle="Proceedings of the 2007 Joint Conference on Empirical Methods in Natural Language "
    "Processing and Computational Natural Language Learning (EMNLP-CoNLL)",
    pages="22--32",
    title="What is the {J}eopardy Model? A Quasi-Synchronous Grammar for {QA}",
    year="2007",
)
SEMEVAL2017 = _paper(
    "inproceedings",
    "cer-etal-2017-semeval",
    "https://aclanthology.org/S17-2001/",
    author=r"Cer, Daniel and Diab, Mona and Agirre, Eneko and Lopez-Gazpio, I{\~n}igo and Specia, "
    "Lucia",
    booktitle="Proceedings of the 11th International Workshop on Semantic Evaluation "
    "(SemEval-2017)",
    doi="10.18653/v1/S17-2001",
    pages="1--14",
    title="{S}em{E}val-2017 Task 1: Semantic Textual Similarity Multilingual and Crosslingual "
    "Focused Evaluation",
    year="2017",
)
WMT17 = _paper(
    "inproceedings",
    "bojar-etal-2017-results",
    "https://aclanthology.org/W17-4755/",
    author=r"Bojar, Ond{\v{r}}ej and Graham, Yvette and Kamran, Amir",
    booktitle="Proceedings of the Second Conference on Machine Translation",
    doi="10.18653/v1/W17-4755",
    pages="489--513",
    title="Results of the {WMT}17 Metrics Shared Task",
    year="2017",
)
BERT_REGRESSOR = _paper(
    "misc",
    "shimanaka2019machine",
    "https://arxiv.org/abs/1907.12679",
    author="Shimanaka, Hiroki and Kajiwara, Tomoyuki and Komachi, Mamoru",
    note="arXiv:1907.12679",
    title="Machine Translation Evaluation with {BERT} Regressor",
    year="2019",
)
MOVERSCORE = _paper(
    "inproceedings",
    "zhao-etal-2019-moverscore",
    "https://aclanthology.org/D19-1053/",
    author="Zhao, Wei and Peyrard, Maxime and Liu, Fei and Gao, Yang and Meyer, Christian M. and "
    "Eger, Steffen",
    booktitle="Proceedings of the 2019 Conference on Empirical Methods in Natural Language "
    "Processing and the 9th International Joint Conference on Natural Language Processing "
    "(EMNLP-IJCNLP)",
    doi="10.18653/v1/D19-1053",
    pages="563--578",
    title="{M}over{S}core: Text Generation Evaluating with Contextualized Embeddings and Earth "
    "Mover Distance",
    year="2019",
)

PAPERS = {
    paper.key: paper
    for paper in (
        SDJC,
        JACSTS,
        TANDA,
        WIKIQA,
        TRECQA,
        SEMEVAL2017,
        WMT17,
        BERT_REGRESSOR,
        MOVERSCORE,
    )
}
"""Every paper by its citation key."""


def bibtex(*papers: Paper) -> str:
    """The BibTeX entries of papers, one after another."""
    return "\n".join(paper.bibtex for paper in papers)
