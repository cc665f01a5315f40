"""The encoding of text files that name none."""

import pytest

from polyqa.documents.converting import decoded


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "El año pasado la compañía española abrió una oficina en la montaña."),
        ("cp1252", "A informação não está disponível na região, e as condições são boas."),
        ("cp1252", "L'été dernier, la société a ouvert un bureau à l'étranger."),
        ("cp1250", "Az őszi időjárás hűvös, Győr városa szép és nagy."),
        ("cp1250", "Zażółć gęślą jaźń. W Łodzi mieszkała pani, która lubiła książki."),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. Město leží na řece."),
    ],
)
def test_the_encoding_of_a_text_is_that_of_its_language(encoding: str, text: str) -> None:
    assert decoded(text.encode(encoding)) == text
