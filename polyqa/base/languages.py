"""Notices texts that are not English, and says what of polyqa reads English only."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

MODELS_READ = (
    "polyqa's embedded models (encoder, reader, the engine that answers without a language model) read English. Index "
    "with a multilingual ColBERT checkpoint (--checkpoint) and name a language model (--lm)."
)
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH_WORDS = (
    "the of is are was were what who whom whose when where which why how did does do has have had been and by with for "
    "from that this it its at to not can could would should will be as into about between during after before"
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_LANGUAGES = {
    **{"es": "Spanish", "fr": "French", "de": "German", "it": "Italian", "pt": "Portuguese", "nl": "Dutch"},
    **{"pl": "Polish", "cs": "Czech", "sv": "Swedish", "da": "Danish", "no": "Norwegian", "fi": "Finnish"},
    **{"tr": "Turkish", "hu": "Hungarian", "ro": "Romanian", "id": "Indonesian", "vi": "Vietnamese", "en": "English"},
}
_SCRIPTS = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean", "DEVANAGARI": "Hindi"}
_FEWEST = 4  # words; shorter texts in Latin letters may be nothing but names
_FEW_ENGLISH = 0.05  # of the words of a long text; its quotations and titles may be English
_SOME_ENGLISH = 0.1  # of the letters of a text that is mostly in another script; its names may be English
_SURELY = 12.0  # difference of log-likelihoods
_LOOKED_AT = 40  # passages of a corpus
_LONGEST = 1_000  # characters of a text


def foreign_language(text: str) -> str | None:
    """Return the language of a text that surely is not English; ``None`` for English, and where it is not sure.

    A question with one English function word is English, whatever names stand in it: a false alarm is worse than a
    miss. What is not written in Latin letters is told by its script, all else by py3langid.

    >>> foreign_language("Who directed Das Leben der Anderen?"), foreign_language("Wann wurde die alte Brücke gebaut?")
    (None, 'German')
    >>> foreign_language("大桥何时建成？"), foreign_language("Titanic")
    ('Chinese', None)
    """
    words = _WORD.findall(text[:_LONGEST])
    letters = "".join(words).upper()
    scripts = Counter(unicodedata.name(letter, "LATIN").partition(" ")[0] for letter in letters if letter > "\u02ff")
    english = [word for word in words if word.lower() in _ENGLISH]
    if 2 * scripts.total() > len(letters) and len("".join(english)) <= _SOME_ENGLISH * len(letters):
        kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
        script = "HIRAGANA" if kana else scripts.most_common(1)[0][0]
        return _SCRIPTS.get(script, script.capitalize())
    plain = [word for place, word in enumerate(words) if place == 0 or word.islower()]  # the others may be names
    if len(plain) < _FEWEST or len(english) > _FEW_ENGLISH * len(words):
        return None
    import py3langid  # takes a second

    ranked = [(language, score) for language, score in py3langid.rank(" ".join(plain)) if language in _LANGUAGES]
    scores = dict(ranked)
    best = ranked[0][0]
    return _LANGUAGES[best] if scores[best] - scores["en"] > _SURELY else None


def corpus_language(texts: Sequence[str]) -> str | None:
    """Return the language of most of a corpus if that is not English, from forty texts at even distances."""
    looked_at = texts[:: max(1, len(texts) // _LOOKED_AT)]
    languages = Counter(language for text in looked_at if (language := foreign_language(text)))
    language, times = languages.most_common(1)[0] if languages else ("", 0)
    return language if 2 * times > len(looked_at) else None
