import pytest

from polyqa.base.keys import HIDDEN, error_line, without_keys


@pytest.mark.parametrize(
    "key",
    [
        "sk-0123456789abcdefghij",
        "sk-proj-AbCd_0123456789-xyz",
        "sk-ant-api03-AbCdEf0123456789",
        "gsk_0123456789abcdefghij",
        "hf_AbCdEfGhIjKlMnOpQrSt",
        "AIzaSyA0123456789abcdefghijklmnopqrstu",
        "ghp_0123456789abcdefghij",
        "xai-0123456789abcdefghij",
    ],
)
def test_what_looks_like_a_key_is_hidden(key: str) -> None:
    assert without_keys(f"Wrong key: {key}, ask for another.") == f"Wrong key: {HIDDEN}, ask for another."
    assert without_keys(f"{{'Authorization': 'Bearer {key[3:]}'}}") == f"{{'Authorization': 'Bearer {HIDDEN}"


@pytest.mark.parametrize(
    "text",
    ["skateboardingchampionships in Skopje", "a sk-learn model", "the task_description_of_everything", "hf_hub", ""],
)
def test_words_stay(text: str) -> None:
    assert without_keys(text) == text


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("MY_API_KEY", "0f9a6b1e-7d31", True),
        ("my_token", "plain word", True),
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG", True),
        ("SHORT_KEY", "abc", False),  # may be any word
        ("CLOUD_CREDENTIALS", "/etc/cloud.json", False),  # a path, which the user needs to read
        ("MONKEY_HOME", "of the monkeys", False),
    ],
)
def test_what_the_environment_holds_under_a_keys_name_is_hidden(
    name: str, value: str, hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert without_keys(f"It is {value}.") == f"It is {HIDDEN if hidden else value}."


def test_an_error_is_a_line_of_some_length() -> None:
    error = ValueError("first\n  second sk-0123456789abcdefghij " + 300 * "x")
    assert error_line(error, 40) == f"first second {HIDDEN} {21 * 'x'}"
    assert len(error_line(error)) == 300
