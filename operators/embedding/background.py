"""The similarity that a model gives to texts which have nothing to do with each other.

Models differ in it: .04 with ``minilm``, .78 with E5, so that E5's best and worst passages are near
to each other. The scales of this project (the common scale of all corpora, ``lexical_margin``, the
levels of evidence) begin at that of ``minilm``. So the distances of a model that begins higher are
multiplied by a factor by which its unrelated texts are as far apart as those of ``minilm``.
"""

import numpy as np

from operators.embedding.protocol import Embedder

UNRELATED = (
    "The scheduler retries a failed job with exponential backoff, at most five times.",
    "Invoices are exported as PDF on the first of each month, one file a customer.",
    "def area(radius: float) -> float:\n    return math.pi * radius ** 2",
    "Why does the sidebar flicker when the dark theme is chosen?",
    "fix: keep the cursor in place when a tab is closed",
    "Set `tls.min_version` to 1.3 to refuse clients that are older.",
    "TypeError: cannot read properties of undefined (reading 'length')",
    "Install the package with `apt install`, then add your user to the group `audio`.",
    "SELECT name, sum(amount) FROM orders GROUP BY name HAVING sum(amount) > 100",
    "Removed support for Windows 7 and raised the minimum compiler to C++17.",
    "A mutex protects the table of open connections; readers take a shared lock.",
    "What is the difference between a merge commit and a rebase?",
    "The printer's driver scales images to the paper unless margins are given.",
    ".button:hover { background: #0a6; transition: background 200ms ease-in; }",
    "Translations live in `locales/`; a missing key falls back to English.",
    "The garbage collector moves objects between generations after two survivals.",
    "bump lodash from 4.17.20 to 4.17.21",
    "How are the weights of the neural network initialised?",
    "The license of the fonts forbids to ship them in a commercial product.",
    "Could we rename this parameter? `flag` says nothing of what it switches.",
    "Unicode normalisation form C composes letters and their accents.",
    "terraform apply creates the bucket and the role that may read it",
    "The parser builds a syntax tree and reports the line of the first error.",
    "Sensors report the temperature every ten seconds over Bluetooth.",
)
"""Two dozen texts of software projects, each of another matter."""

USUAL = 0.038
"""The background of ``minilm``, on whose similarities thresholds were chosen."""


def background(embedder: Embedder) -> float:
    """The mean similarity of ``UNRELATED`` as questions to the others as passages, in thousandths.

    Raises:
        EmbeddingError: the model fails.
    """
    asked = np.asarray(embedder.embed_queries(UNRELATED), np.float64)
    read = np.asarray(embedder.embed_documents(UNRELATED), np.float64)
    similarities = asked @ read.T
    others = ~np.eye(len(UNRELATED), dtype=bool)
    return round(float(similarities[others].mean()), 3)


def distance_factor(measured: float | None) -> float:
    """The factor of a model's cosine distances; 1 where the background is usual or unknown.

    >>> distance_factor(USUAL), distance_factor(None), round(distance_factor(0.8), 2)
    (1.0, 1.0, 4.81)
    """
    return 1.0 if measured is None or not USUAL < measured < 1 else (1 - USUAL) / (1 - measured)
