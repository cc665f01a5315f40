from polyqa.evaluation.dry_run import DryCall, DryRun
from polyqa.evaluation.prompt_cache import repeated_tokens
from polyqa.evaluation.tokens import Tokenizer, Tokens

WORDS = Tokenizer("words", lambda text: Tokens([hash(word) for word in text.split()], []))


def call(system: str, user: str, *, began: int = 0, step: str = "answer", lm: str | None = None) -> DryCall:
    return DryCall(step, lm, began, (("system", system), ("user", user)), "", None)


def repeated(*runs: list[DryCall]) -> list[list[int]]:
    return repeated_tokens([DryRun(calls, 1) for calls in runs], WORDS)


def test_prompts_of_other_questions_and_earlier_ones_of_the_same_count() -> None:
    assert repeated([call("a b c", "one")]) == [[0]]
    assert repeated([call("a b c", "one two")], [call("a b c", "one three")]) == [[4], [4]]
    assert repeated([call("a b c", "one two"), call("a b d", "x", began=1)]) == [[0, 2]]
    assert repeated([call("a b c", "one"), call("a b c", "two")]) == [[0, 0]], "neither is answered before the other"
    assert repeated([call("a b", "one")], [call("a b", "one")]) == [[3], [3]]
    assert repeated([call("a b c", "one")], [call("a b", "c one")]) == [[2], [2]], "messages are kept apart"


def test_other_steps_and_models_share_nothing() -> None:
    assert repeated([call("a b", "one")], [call("a b", "one", step="verify")]) == [[0], [0]]
    assert repeated([call("a b", "one")], [call("a b", "one", lm="openai/x")]) == [[0], [0]]
    assert repeated([call("a", "q", step="verify"), call("a b", "one")], [call("a b", "two")]) == [[0, 2], [2]]
