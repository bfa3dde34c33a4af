"""Contrastive adaptation of a sentence encoder to a domain, after SDJC (arXiv 2503.09094).

In-batch negatives and one hard negative a sentence, from triples that you bring (``--triples``, a
CSV file with the columns sent0, sent1 and hard_neg, as the authors' files) or that are made from
the domain's sentences: the positive is the sentence itself under other dropout, as in SimCSE; in
the hard negative its longest run of kanji, of katakana or of Latin letters is replaced with another
sentence's run of the same script. The paper generates negatives with a fine-tuned T5 instead; both
keep the sentence and change what it is about. The defaults are those of the authors' stage one.

    python scripts/recipes/contrastive_adaptation.py --model FOLDER_OR_NAME --seed 1
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

from common import is_finished, parse, parser_of, run, sentence_encoder, train
from datasets import Dataset
from sentence_transformers.losses import MultipleNegativesRankingLoss

import mteb_ext

COLUMNS = ["sent0", "sent1", "hard_neg"]
SCRIPTS = {"kanji": "[々一-龯]+", "katakana": "[ァ-ヺー]+", "latin": "[A-Za-z]+"}
SCALE = 20.0  # one over the paper's temperature of 0.05


def main(arguments: Sequence[str] | None = None) -> Path:
    """Train, and say how to evaluate; the model's folder is returned."""
    parser = parser_of(__doc__, epochs=1, batch_size=512, max_length=32, learning_rate=5e-5)
    parser.add_argument("--triples", help="a CSV file with the columns sent0, sent1, hard_neg")
    parser.add_argument("--corpus", type=Path, help="a sentence a line; SDJC's if left out")
    parser.add_argument("--target", default="JACSTS", help="the STS task that is evaluated")
    options = parse(parser, arguments, target="JACSTS.sample")
    name = f"contrastive-{options.target}"
    folder = options.output / f"{name}-seed{options.seed}"
    if not is_finished(folder, options):
        if options.triples:
            data = Dataset.from_csv(options.triples).select_columns(COLUMNS)
        else:
            data = triples(sentences(options.corpus, options.tiny), options.seed)
        model = sentence_encoder(data, options)
        train(model, data, MultipleNegativesRankingLoss(model, scale=SCALE), folder, options)
    print(f"mteb-ext run -m {folder} --name recipes/{name} -t {options.target}")
    return folder


def sentences(corpus: Path | None, tiny: bool) -> list[str]:
    """The domain's sentences."""
    if corpus:
        return [line for line in corpus.read_text("utf-8").split("\n") if line.strip()]
    if tiny:
        return list(mteb_ext.load_dataset("JACSTS.sample")["sentence1"])
    return list(mteb_ext.load_dataset("SDJCClinic", "train")["sentence"])


def triples(texts: Sequence[str], seed: int) -> Dataset:
    """Each sentence twice, and once with its longest run of one script exchanged.

    A sentence without a run, or whose script no other run has, is left out.
    """
    draw = random.Random(seed)
    runs = {
        script: sorted({run for text in texts for run in re.findall(pattern, text)})
        for script, pattern in SCRIPTS.items()
    }
    rows = []
    for text in dict.fromkeys(texts):  # a second one would be a wrong negative of the first
        found = [(m, s) for s, pattern in SCRIPTS.items() for m in re.finditer(pattern, text)]
        if not found:
            continue
        longest, script = max(found, key=lambda run: len(run[0].group()))
        others = [run for run in runs[script] if run not in text]
        if others:
            other = draw.choice(others)
            rows.append((text, text, text[: longest.start()] + other + text[longest.end() :]))
    if not rows:
        raise SystemExit("no triple can be made of these sentences: bring some with --triples")
    return Dataset.from_dict(dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)))


if __name__ == "__main__":
    run(main)
