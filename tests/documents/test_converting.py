"""Encodings of texts that name none, mails, and texts that begin with fields."""

import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest

from polyqa.documents.converting import convert, decoded


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


@pytest.mark.parametrize(
    ("header", "title", "author"),
    [
        ("Subject: Grün\nFrom: Jörg <j@x.org>".encode(), "Grün", "Jörg"),
        ("Subject: Grün\nFrom: Jörg <j@x.org>".encode("cp1252"), "Grün", "Jörg"),
        (b"Subject: Hi\n there\nFrom: =?utf-8?b?xxx?= <j@x.org>", "Hi there", "\ufffd"),
        (b"Subject: Hi\nFrom: a@", "Hi", None),
        (b'Subject: Hi\nFrom: "a" <', "Hi", None),
        (b"Subject: Hi\nFrom: a@[1.2.3", "Hi", None),
    ],
)
def test_an_odd_header_costs_a_field_at_most(header: bytes, title: str, author: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_bytes(header + b"\n\nIt rained.\n")
    (document,) = convert(tmp_path / "a.eml")
    assert (document.title, document.metadata.get("author")) == (title, author)


def test_a_line_that_a_mailbox_escapes_is_no_quotation(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "a.mbox")
    for header in (b"From: a@", b"From: j@x.org"):
        box.add(header + b"\n\n> Old.\n\nFrom 2024 on it is free.\n")
    box.close()
    assert [block.text for document in convert(tmp_path / "a.mbox") for block in document.blocks] == [
        "From 2024 on it is free."
    ] * 2


@pytest.mark.parametrize("suffix", ["eml", "mbox"])
def test_a_mail_that_is_attached_to_a_mail_is_read(suffix: str, tmp_path: Path) -> None:
    inner, outer, bare = EmailMessage(), EmailMessage(), EmailMessage()
    inner["Subject"], inner["From"] = "Budget", "ann@x.org"
    inner.set_content("It is 40 euros.")
    outer["Subject"] = "Fwd"
    outer.set_content("See below.")
    outer.add_attachment(inner)
    bare.set_content(outer)
    if suffix == "eml":
        (tmp_path / "a.eml").write_bytes(bare.as_bytes())
    else:
        mailbox.mbox(tmp_path / "a.mbox").add(bare)
    found = [(one.title, [block.text for block in one.blocks]) for one in convert(tmp_path / f"a.{suffix}")]
    assert found == [("Fwd", ["See below."]), ("Budget", ["It is 40 euros."])]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
@pytest.mark.parametrize("header", [b"", b"Content-Type: text/plain; charset=us-ascii\n"])
def test_a_mail_that_names_no_charset_keeps_its_letters(header: bytes, encoding: str, tmp_path: Path) -> None:
    text = "Die Vögel fliegen über die kühle Nordsee."
    (tmp_path / "a.eml").write_bytes(b"Subject: Hi\n" + header + b"\n" + text.encode(encoding))
    (document,) = convert(tmp_path / "a.eml")
    assert [block.text for block in document.blocks] == [text]
