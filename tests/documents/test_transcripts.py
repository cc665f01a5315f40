from pathlib import Path

import pytest

from polyqa.documents.converting import convert
from polyqa.documents.transcripts import transcript_blocks

TEAMS = """WEBVTT

NOTE made by a machine

3f0c-1/12-0
00:00:01.000 --> 00:00:06.000
<v Ines Duarte>Welcome. Two points &amp;
one guest.</v>

3f0c-1/13-0
00:00:07.000 --> 00:00:09.000
<v Ines Duarte>First the budget.</v>

3f0c-1/14-0
00:00:10.000 --> 00:00:14.500
<v Paulo Reis>It is 3.4 million euros.</v>
"""
ZOOM = """WEBVTT

1
00:00:01.000 --> 00:00:03.000
Kofi Mensah: The desks come

2
00:00:03.000 --> 00:00:05.000
Kofi Mensah: in September.

3
00:00:06.000 --> 00:00:07.000
and the lamps, too.

4
01:00:08.000 --> 01:00:09.000
Ines: Good.
"""
ROLLING = """WEBVTT
Kind: captions

00:00:00.000 --> 00:00:02.000 align:start position:0%
the<00:00:00.400><c> old</c><00:00:00.900><c> mill</c>

00:00:02.000 --> 00:00:04.000
the old mill
closed<00:00:02.500><c> in 1902</c>
"""
SUBTITLES = """1
00:00:01,000 --> 00:00:02,500
<i>The harbour freezes</i>

2
00:00:03,000 --> 00:00:04,000
{\\an8}every winter.
"""


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        (
            TEAMS,
            {
                7: "Ines Duarte: Welcome. Two points & one guest. First the budget.",
                16: "Paulo Reis: It is 3.4 million euros.",
            },
        ),
        (ZOOM, {5: "Kofi Mensah: The desks come in September. and the lamps, too.", 17: "Ines: Good."}),
        (ROLLING, {5: "the old mill closed in 1902"}),
        (SUBTITLES, {3: "The harbour freezes every winter."}),
        ("WEBVTT\n\nNOTE nothing was said\n", {}),
    ],
)
def test_each_turn_is_a_paragraph_with_its_speaker_and_line(text: str, turns: dict[int, str]) -> None:
    assert {block.line: block.text for block in transcript_blocks(text)} == turns


def test_two_who_speak_at_the_same_time_are_told_apart() -> None:
    text = (
        "WEBVTT\n\n00:00.000 --> 00:20.000\n<v Ann Lee>Who is it?</v>\n<v Bo>Only me.\n\n00:21.000 --> 00:22.000\nBo."
    )
    assert [block.text for block in transcript_blocks(text)] == ["Ann Lee: Who is it?", "Bo: Only me. Bo."]


def test_where_nobody_is_named_a_paragraph_ends_with_a_sentence() -> None:
    cues = [
        f"00:{at:02}.000 --> 00:{at:02}.900\nWave {at} broke\n\n00:{at:02}.900 --> 00:{at:02}.999\non the pier.\n\n"
        for at in range(30)
    ]
    texts = [block.text for block in transcript_blocks("".join(cues))]
    assert len(texts) == 3
    assert all(text.startswith("Wave") and text.endswith("on the pier.") and len(text) < 350 for text in texts)


def test_a_transcript_is_titled_by_its_file_and_its_speakers_stand_apart(tmp_path: Path) -> None:
    file = tmp_path / "board.VTT"
    file.write_text(TEAMS.replace("\n", "\r\n"), encoding="utf-8-sig")
    (document,) = convert(file)
    assert not document.title
    assert [block.text.split(":")[0] for block in document.blocks] == ["Ines Duarte", "Paulo Reis"]
