"""Question and context as a model reads them: in windows of so many tokens, as the official SQuAD scripts cut them."""

from collections.abc import Sequence

from tokenizers import Encoding, Tokenizer


class Windows:
    """Cuts pairs of a question and a context into overlapping windows.

    Parameters
    ----------
    tokenizer
        A model's own, which adds its special tokens; it stays as it is.
    max_length, stride
        Tokens per window, and tokens that neighbouring windows share.
    """

    def __init__(self, tokenizer: Tokenizer, *, max_length: int, stride: int) -> None:
        self._whole, self._cut = (Tokenizer.from_str(tokenizer.to_str()) for _ in range(2))
        for own in (self._whole, self._cut):
            own.no_padding()
        self._whole.no_truncation()
        self._cut.enable_truncation(max_length, stride=stride, strategy="only_second")
        # A longer question leaves no room for the context; the tokenizer panics on it.
        self._longest_question = max(16, max_length - 2 * stride)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[list[Encoding]]:
        """Return the windows of each pair, in order, at least one."""
        cut = [(self._question(question.strip()), context) for question, context in pairs]
        return [[one, *one.overflowing] for one in self._cut.encode_batch(cut)]

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, special tokens not counted."""
        return len(self._whole.encode(text, add_special_tokens=False).ids)

    def _question(self, question: str) -> str:
        if len(question) <= self._longest_question:  # a token has at least one character
            return question
        offsets = self._whole.encode(question, add_special_tokens=False).offsets
        return question[: offsets[self._longest_question - 1][1]] if len(offsets) > self._longest_question else question
