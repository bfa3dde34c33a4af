"""Speed, memory and false matches of the look-up of test texts in made-up training data.

The training data are sentences of the test texts' own words, drawn by their frequency: what is made
up shares every word with the test side, and no sentence. Among them stand planted copies: whole,
with other case and punctuation, inside a longer text, and the first 13 words.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

from mteb_ext.leaks.counting import Lookup, Seen
from mteb_ext.leaks.index import N_WORDS
from mteb_ext.leaks.items import sets_of
from mteb_ext.leaks.normalising import words

_BLOCK = 1_000_000  # lines that are made up; more lines are these again
_PLANTED = 100


def main() -> None:
    """Make the data up, look it up, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-t", "--tasks", nargs="+", default=["WikiQA"])
    parser.add_argument("--lines", type=int, default=_BLOCK)
    arguments = parser.parse_args()
    sets = sets_of(arguments.tasks)
    texts = sorted({t for s in sets for i in s.items for side in i.texts.values() for t in side})
    draw = random.Random(0)
    long = [text for text in texts if N_WORDS < len(words(text)) < 2 * N_WORDS]
    planted = draw.sample(long, 3 * _PLANTED)
    whole, inside, part = planted[:_PLANTED], planted[_PLANTED:-_PLANTED], planted[-_PLANTED:]
    lookup = Lookup(sets)
    with tempfile.TemporaryDirectory() as folder:
        made_up, copies = Path(folder) / "made_up.txt", Path(folder) / "copies.txt"
        _make_up(made_up, texts, arguments.lines, draw)
        copies.write_text(
            "".join(f"-- {text.upper()} !\n" for text in whole)
            + "".join(f"Somebody wrote: {text} And so on.\n" for text in inside)
            + "".join(" ".join(words(text)[:N_WORDS]) + "\n" for text in part),
            "utf-8",
        )
        seen, found = Seen(lookup), Seen(lookup)
        started = time.process_time()
        seen.read(made_up)
        took = time.process_time() - started
        found.read(copies)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(texts):,} test texts, {arguments.lines:,} training texts")
    print(f"{took:.1f} s of CPU, {arguments.lines / took:,.0f} texts a second; peak {peak:,.0f} MB")
    print(f"test texts matched by made-up sentences: {len(seen.sightings)}")
    kinds = Counter(sighting.exact for sighting in found.sightings.values())
    print(f"planted {_PLANTED} equal and {2 * _PLANTED} near; found {kinds[True]}, {kinds[False]}")


def _make_up(path: Path, texts: list[str], lines: int, draw: random.Random) -> None:
    counts = Counter(word for text in texts for word in text.split())
    known, weights = [*counts], [*counts.values()]
    lengths = [max(5, len(text.split())) for text in texts]
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, min(lines, _BLOCK), 10_000):
            size = min(10_000, lines - start)
            chosen = draw.choices(lengths, k=size)
            drawn = iter(draw.choices(known, weights, k=sum(chosen)))
            file.writelines(
                " ".join(next(drawn) for _ in range(length)) + "\n" for length in chosen
            )
    block = path.read_bytes()
    with path.open("ab") as file:
        for _ in range(1, lines // _BLOCK):
            file.write(block)


if __name__ == "__main__":
    main()
