"""Word-pieces of texts, by a tokenizer in Hugging Face's format; without its markers."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from operators.embedding.protocol import EmbeddingError, readable
from operators.foundation.escape import label_text

AT_ONCE = 512
"""Texts tokenized in one call; their encodings take some 25 kB each."""


class WordPieces:
    """The part of an embedder that counts word-pieces, without markers and prefix."""

    _tokenizer: Any

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the word-pieces of each text; 0 for an empty one."""
        return [len(encoding) for encoding in self._encodings(texts)]

    def _encodings(self, texts: Sequence[str]) -> Iterator[Any]:
        for start in range(0, len(texts), AT_ONCE):
            batch = readable(texts[start : start + AT_ONCE])
            yield from self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)


def read_tokenizer(path: Path) -> tuple[Any, int]:
    """The tokenizer of a file, without truncation and padding, and the id for padding.

    Raises:
        EmbeddingError: the file is no tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except BaseException as error:  # the library raises nothing narrower, and panics
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        says = label_text(str(error))[:300]
        raise EmbeddingError(f"cannot read {str(path)!r} as a tokenizer: {says}") from error
    named = tokenizer.token_to_id("[PAD]") or tokenizer.token_to_id("<pad>") or 0
    padding = int((tokenizer.padding or {}).get("pad_id", named))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # A text that says "[SEP]" means these five characters.
    tokenizer.encode_special_tokens = True
    return tokenizer, padding
