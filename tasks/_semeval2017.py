"""What the tasks of SemEval-2017 Task 1 share."""

from __future__ import annotations

COMMIT = "b4cd273eb2c6cc0de34ebeffebd12ebf155ecff6"
DATASET = {"path": "eduardofv/sts_eval", "revision": COMMIT}
REPOSITORY = f"eduardofv/sts_eval/{COMMIT}/data"
REFERENCE = "https://aclanthology.org/S17-2001/"
CITATION = r"""
@inproceedings{cer-etal-2017-semeval,
  author = {Cer, Daniel and Diab, Mona and Agirre, Eneko and Lopez-Gazpio, I{\~n}igo and Specia, Lucia},
  booktitle = {Proceedings of the 11th International Workshop on Semantic Evaluation (SemEval-2017)},
  doi = {10.18653/v1/S17-2001},
  pages = {1--14},
  title = {{S}em{E}val-2017 Task 1: Semantic Textual Similarity Multilingual and Crosslingual Focused Evaluation},
  year = {2017},
}
"""
