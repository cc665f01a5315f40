"""Which generated questions are good enough to train with, and why the others are not.

A small writer makes questions that its own reader can answer and that nobody would ask: with a name spelled wrongly,
about a birth with the date of the death, with no verb. For finding passages they do no harm; in training they would
teach what is wrong. The rules here look only at the question, its answer and its passage, and say in words what they
found. They are heuristics of English, tried in order, each for one kind of fault. Half of what a language model asks
well does not pass those for slips, so its questions are spared them; some of a small writer's slips pass them all.
"""

import re
from collections import Counter
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import pairwise

from polyqa.base.values import Passage
from polyqa.metrics.text import content_words, names_and_numbers, split_title, stems

WORD = re.compile(r"[^\W\d_][\w'’.-]*")
WHEN = re.compile(r"^(?:When|(?:In|On|At) (?:what|which) (?:year|date|day|month|century|decade)|What (?:year|date))\b")
"""How a question begins that asks for a time."""
FUNCTION = frozenset(
    """
    a an the of in on at to from by for with and or as is was are were be been did do does has have had it its that this
    what which who whom whose when where why how many much long old far into about than there their his her he she they
    not also only between during after before until since under over although while however following despite because
    then though if
    """.split()  # noqa: SIM905
)
GENERAL = frozenset(
    """
    name named called year date day month time city country state town place company person man woman people river team
    kind type number first last main known located based
    film song album novel book band series show game match
    """.split()  # noqa: SIM905
)
OFTEN_CAPITAL = frozenset(
    """
    is was are were did does do has have had city country year company state date county river team person man woman
    type kind language province region town village school university club band song film book island plateau
    """.split()  # noqa: SIM905
)
IRREGULAR = frozenset(
    """
    begin win write sing become take hold leave give bring build buy find lead lose make meet rise run see sell send
    speak spend stand teach tell wear break choose come cut draw drive fall feel fight fly forget get go grow have hit
    keep know lay let mean pay put read ride set shoot show shut sink sit steal strike swim throw understand
    """.split()  # noqa: SIM905
)
PARTICIPLE = re.compile(
    r"\w+(?:ed|en|wn)|built|born|made|won|held|sold|bought|brought|taught|caught|fought|found|left|led|lost|sent|spent|"
    r"set|put|cut|shot|hit|begun|sung|run|read|told|paid|laid|said|heard|meant|kept|active|common|available|independent"
)
PERSON = re.compile(
    r"\w+(?:er|or|ist|ian|ant|ent|man|woman|ess|ief|eer|ar|king|queen|prince|duke|earl|count|pope|wife|husband|son|"
    r"daughter|uncle|aunt|niece|nephew|cousin|child|captain|coach|host|judge|voice|lead|head|star|bride|groom|ally|"
    r"people|men|women|twin|ace|founder|winner|author|cast)s?"
)
_SAME = (
    ("found", "estab", "form", "creat", "start", "set"),
    ("built", "build", "const", "compl", "erect"),
    ("born", "birth"),
    ("die", "died", "death"),
    ("begin", "began", "start", "launc", "open"),
    ("end", "close", "dissol", "ceas"),
    ("write", "wrote", "writt", "autho"),
    ("made", "make", "produ", "manuf", "creat"),
    ("sing", "sang", "sung", "perfo", "recor"),
    ("own", "owner", "owned"),
    ("play", "starr", "portr"),
    ("win", "won", "winne", "victo"),
    ("buy", "bough", "acqui", "purch"),
    ("head", "led", "lead", "chair"),
    ("bring", "broug"),
    ("give", "gave", "given"),
    ("take", "took", "taken"),
    ("hold", "held"),
    ("leave", "left"),
    ("become", "became"),
    ("publi", "issue", "relea", "appea"),
)
CONTINENTS = frozenset({"Africa", "Antarctica", "Asia", "Europe", "North America", "Oceania", "South America"})
"""None of them is a country, too."""
_AFTER_ASKING = re.compile(r"^((?:[A-Z][a-z]+ )?(?:[Ww]hat|[Ww]hich)) ([A-Z][A-Za-z]+)\b")
_CLAUSE = re.compile(r",? (?:which|who|where|that|but|before|after|then|while|although|when)\b")
_VERB = re.compile(r"\b(?:is|was|were|are|had|has|[a-z]+ed)\b")
_BE = r"(?:is|was|are|were)"
_ASKING = re.compile(
    r"^(?:(?:In|On|At|To|From|By|For|With) (?:what|which|whom)|What|Which|Who|Whom|Whose|When|Where|Why|How)\b"
)
_WHERE = re.compile(
    r"^(?:Where|(?:In|On|At) (?:what|which) (?:city|country|state|town|village|county|province|region))\b"
)
_WHO_IS = re.compile(rf"^Who {_BE} ")
_NAME_OF = re.compile(rf"^(?:What|Which) {_BE} (?:the )?names? (?:of|given to)\b(?: the ([a-z ]+?)(?: of| in| at|$))?")
_KIN = r"(?:daughter|son|father|mother|wife|husband|brother|sister)"
_KIN_OF = re.compile(rf"['’]s ({_KIN})$")
_OF_KIN = re.compile(rf"^What {_BE} (?:the |.*['’]s )(?:\w+ )?{_KIN}\b")
_DID_PAST = re.compile(r"\b(?:did|does|do) (?:[^ ]+ )*?[a-z]+[^e\W]ed\b")
_LATER = re.compile(r"\b(?:year|month|week|day|hour)s? (?:later|earlier|after|before|ago)\b")
_PLAYED = re.compile(r"^Who (?:played|portrayed|voiced)\b")
_SHARE_OF = re.compile(r"^(?:What|Which) (?:percentage|share|proportion|number|part|amount) of\b")
_ANY_VERB = re.compile(r"\b(?:is|was|are|were|did|does|do|has|have|had|can|could|will|would|\w+ed)\b")
_ALONE = re.compile(
    r"\b(?:receive|win|join|found|marry|publish|acquire|buy|defeat|replace)(?: (?:in|at|on|by|for)\b|$)"
)
_AFTER_PARTICIPLE = re.compile(
    r"in|on|at|by|to|of|for|from|with|as|into|after|before|during|under|over|through|and|or|between|out|up|down|first|"
    r"last|again|\w+ly"
)
_MARKS = re.compile(r"[\"“”]{2}|\s-\w|\w- |\(\s|\s\)")
_SPAN = re.compile(r"\bfrom (\d{3,4}s?) (?:to|until) (\d{3,4}s?)\b")
_YEAR_OF = re.compile(r"\bthe (\d{4}) (?:[a-z]+ )?([a-z]+)\b")
_PEOPLE = re.compile(r"(?:ian|can|ish|ese|nch|utch|reek|erman|orean)$")
_WINNING = re.compile(r"^(?:Who|What|Which)\b.*\b(?:won|win|beat|defeat(?:ed)?)\b")
_TO_A_LOSER = re.compile(r"\b(?:from|against|over|to)\s+(?:the )?$")
_TO_AN_END = re.compile(
    r"\b(?:until|to|till|between|through|before|after|by)\s+(?:the )?$|\d\s*[–-]\s*$|\bbetween [^.;]{0,40} and $"
)
_ASKS_END = re.compile(r"\b(?:until|end|ended|close|closed|die|died|last|before|after|by)\b")
_BORN, _DIED = re.compile(r"\b(?:born|birth)\b"), re.compile(r"\b(?:die|died|death)\b")
_LIFE = re.compile(r"\(([^()]*\d{3,4}[^()]*?)\s*[–—-]\s*([^()]*\d{3,4}[^()]*)\)")
_OPENING = 300  # characters of a passage in which a life's dates stand
_ANAPHOR = re.compile(r"(?:It|He|She|They|This|These|The|Its|His|Her|Their)\b|[A-Z][a-z]+(?:ed|ilt|orn)\b")


def mended(question: str) -> str:
    """Return a question with a small writer's slips mended: "' S", a capital after the question word, a word twice.

    >>> mended("In what City is Niva' S office?")
    "In what city is Niva's office?"
    """
    text = re.sub(r"\s*['’]\s+[Ss]\b", "'s", question)
    text = re.sub(r"(\([^()]*?(\b\w+)\)) \2\b", r"\1", text)
    match = _AFTER_ASKING.match(text)
    if match and match[2].lower() in OFTEN_CAPITAL:
        text = f"{match[1]} {match[2].lower()}{text[match.end() :]}"
    return text


class Asked:
    """A question, without its question mark in ``body``, with its answer, which is a span of its passage."""

    def __init__(self, question: str, answer: str, passage: Passage) -> None:
        self.body, self.answer, self.passage = question.rstrip("? "), answer, passage

    @property
    def text(self) -> str:
        """Title and text of the passage."""
        return f"{self.passage.title} {self.passage.text}"

    @cached_property
    def before(self) -> str:
        """What stands in the passage before the answer."""
        return self.passage.text[: max(0, self.passage.text.find(self.answer))]

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences that hold the answer."""
        from punkt import sent_tokenize

        return [part for part in sent_tokenize(self.passage.text) if self.answer in part]

    @cached_property
    def near(self) -> str:
        """The title and what tells the answer: its sentence, from the last clause with a verb before it."""
        parts = [self.passage.title]
        for sentence in self.sentences:
            at = sentence.find(self.answer)
            begin = max((clause.start() for clause in _CLAUSE.finditer(sentence[:at])), default=0)
            parts.append(sentence[begin:] if _VERB.search(sentence[begin:at]) else sentence)
        return " ".join(parts if len(parts) > 1 else [self.text])


def fault(question: str, answer: str, passage: Passage, *, fluent: bool = False) -> str:
    """Return what is wrong with a question whose answer is a span of a passage; ``""`` if nothing is seen.

    The grammar and spelling of a ``fluent`` writer need no check, nor that each of its words stands in the passage.

    >>> passage = Passage(pid="1", title="Ada Lind", text="Ada Lind (3 May 1909 – 15 August 2014) sang in Oslo.")
    >>> fault("When was Ada Lind born?", "15 August 2014", passage)
    'asks for a birth, and the answer is another date'
    >>> fault("When was Ada Lind born?", "3 May 1909", passage)
    ''
    """
    asked = Asked(question, answer, passage)
    for rule in _RULES if fluent else (*_RULES, *_SLIPS):
        if why := rule(asked):
            return why
    return ""


_UNCLEAR = "does not say clearly whom or what it is about"


def _form(asked: Asked) -> str:
    body = asked.body
    if not _ASKING.match(body):
        return "does not begin as a question does"
    if (named := _NAME_OF.match(body)) and not (named[1] and PERSON.fullmatch(named[1].split()[-1])):
        return "asks for a name only"
    if _MARKS.search(body) or body.count("(") != body.count(")") or body.count('"') % 2:
        return "has marks that do not fit together"
    if _says_twice(body, asked.passage.title):
        return _UNCLEAR
    return ""


def _says_twice(body: str, title: str) -> bool:
    """Whether a word comes twice that its title has once at most."""
    words = [re.sub(r"['’]s$", "", word) for word in WORD.findall(body)[1:]]
    counted = Counter(word for word in words if len(word) > 3 and word.lower() not in FUNCTION)
    known = Counter(WORD.findall(title))
    return any(count > max(1, known[word]) for word, count in counted.items())


def _grammar(asked: Asked) -> str:
    body = asked.body
    if _lacks_verb(asked) or (_SHARE_OF.match(body) and not _ANY_VERB.search(body)):
        return "has no verb"
    odd = any(pattern.search(body) for pattern in (_ALONE, _OF_KIN, _DID_PAST))
    if odd or _has_object_too_many(body) or _owns_its_rank(asked):
        return "has words that do not fit together"
    if _WHO_IS.match(body) and not _asks_for_person(body):
        return "asks who something is that is nobody"
    return ""


def _lacks_verb(asked: Asked) -> bool:
    """Whether a name or a noun is all that stands behind *was* or *did*."""
    body = asked.body
    match = re.search(r"\b(is|was|are|were|did|does|do|has|have|had)\b(.*)$", body)
    if match is None or not (WHEN.match(body) or _WHERE.match(body) or re.match(r"^(?:What|Which)\b", body)):
        return False
    rest = [word for word in WORD.findall(match[2]) if word.lower() not in FUNCTION]
    small = [word for word in rest if word[:1].islower()]
    if match[1] in ("did", "do", "does"):
        told = asked.near.lower()
        return not any(
            word in IRREGULAR or stem(word) in ("start", "die") or any(form in told for form in past_forms(word))
            for word in small
        )
    if not body.startswith(("What ", "Which ")):
        return not any(PARTICIPLE.fullmatch(word) for word in rest)
    return not small


def _owns_its_rank(asked: Asked) -> bool:
    """Whether a name owns what stands behind it in the title, or a film is played: *Reginald II's Duke of Guelders*."""
    name, qualifier = split_title(asked.passage.title, commas=True)
    rank = qualifier and re.search(rf"['’]s (?:the )?{re.escape(qualifier.split()[0])}\b", asked.body)
    return bool(rank or (_PLAYED.match(asked.body) and re.match(rf"Who \w+ {re.escape(name)}\W", asked.body + " ")))


def _has_object_too_many(body: str) -> bool:
    """Whether a participle has an object behind it, as in *was France declared war*, or *Who was* a participle only."""
    if not re.match(rf"^(?:When|Where|Who|(?:In|On|At) \w+ \w+) {_BE}\b", body):
        return False
    words = WORD.findall(body)
    for word, following in pairwise(words[2:]):
        is_participle = re.fullmatch(r"[a-z]\w+ed", word)
        if is_participle and following[:1].islower() and not _AFTER_PARTICIPLE.fullmatch(following):
            return True
    return bool(_WHO_IS.match(body) and re.fullmatch(r"[a-z]\w+(?:ed|en|wn)|built|made", words[-1]))


def _asks_for_person(body: str) -> bool:
    """Whether what stands behind *Who was* can be somebody: a name, or a noun for people."""
    rest = _WHO_IS.sub("", body)
    if not re.match(r"(?:the|an?|\w+['’]s) ", rest):
        return "'s " in rest or all(word[:1].isupper() or word in FUNCTION for word in WORD.findall(rest))
    if re.search(r" that [A-Z]", rest):
        return False
    head = re.split(r" (?:of|in|for|at|on|to|from|by|who|that|during|with)\b", rest)[0].split()[-1]
    return bool(PERSON.fullmatch(head)) or head[:1].isupper()


def _names(asked: Asked) -> str:
    for word in WORD.findall(asked.body)[1:]:
        bare = re.sub(r"['’]s$", "", word).strip(".'’-")
        if not bare[:1].isupper() or bare in asked.passage.title:
            continue
        # A word such as "The" belongs to a name where it has its capital within a sentence.
        within = r"(?<!^)(?<![.!?] )" if bare.lower() in FUNCTION else ""
        if not re.search(rf"{within}\b{re.escape(bare)}", asked.passage.text):
            return f"has a name that its passage lacks: {bare}"
    return ""


def _about_something(asked: Asked) -> str:
    """Whether a question has a name, a figure or a word of the title, which *When was the station opened?* has not."""
    known = stems(" ".join(content_words(asked.passage.title)))
    if names_and_numbers(asked.body) or known & stems(asked.body):
        return ""
    return _UNCLEAR


def _small_letters(asked: Asked) -> str:
    for word in re.findall(r"(?<![\w-])[a-z]{4,}(?![\w-])", asked.body):
        is_name = word.capitalize() in asked.text and not re.search(rf"\b{word[:5]}", asked.text)
        if is_name and word not in FUNCTION | GENERAL:
            return f"has a name in small letters: {word}"
    return ""


def _times(asked: Asked) -> str:
    body = asked.body
    if (span := _SPAN.search(body)) and not _tells_span(asked.passage.text, span[1], span[2]):
        return "has a span of years that its passage does not tell"
    if (year := _YEAR_OF.search(body)) and not re.search(
        rf"\b{year[1]}\b(?:\W+[\w'’-]+){{0,5}}?\W+{re.escape(year[2])}", asked.text
    ):
        return "has a year that its passage tells of something else"
    return ""


def _tells_span(text: str, begin: str, end: str) -> bool:
    if begin == end:
        return False
    life = _LIFE.search(text[:_OPENING])
    if life and begin in life[1] and end in life[2]:
        return False
    return bool(re.search(rf"{begin}\s*(?:to|until|and|[–—-])\s*(?:{end}|{end[2:]})", text))


def _kind_of_answer(asked: Asked) -> str:
    body, answer = asked.body, asked.answer
    if WHEN.match(body) and (_LATER.search(answer) or not re.search(r"\d|century|decade", answer)):
        return "asks for a time, and the answer is none"
    if (kin := _KIN_OF.search(body)) and re.search(rf"\b{kin[1]} of {re.escape(answer)}", asked.passage.text):
        return "turns a kinship round"
    if "country" in body.split()[:3] and (_PEOPLE.search(answer) or answer in CONTINENTS):
        return "asks for a country, and the answer is none"
    if _WINNING.match(body) and _TO_A_LOSER.search(asked.before):
        return "asks who won, and the answer lost"
    if WHEN.match(body) and not _ASKS_END.search(body) and _TO_AN_END.search(asked.before):
        return "asks for a beginning, and the answer is an end"
    return ""


def _lives(asked: Asked) -> str:
    body, answer, text = asked.body, asked.answer, asked.passage.text
    if _BORN.search(body) and WHEN.match(body):
        since = asked.before[max(asked.before.rfind("born"), asked.before.find("(")) :]
        if re.search(r"\d{4}", since):
            return "asks for a birth, and the answer is another date"
    life = _LIFE.search(text[:_OPENING])
    if life is None or not WHEN.match(body):
        return ""
    if _DIED.search(body) and answer in life[1] and answer not in life[2]:
        return "asks for a death, and the answer is the birth"
    of_life = text.count(answer) == 1 and (answer in life[1] or answer in life[2])
    if of_life and not (_BORN.search(body) or _DIED.search(body)):
        return "asks for something else, and the answer is a date of birth or death"
    return ""


def _heading(asked: Asked) -> str:
    """Find a title that is a heading: *Company history*, over a text that tells of the company and of no history."""
    name = split_title(asked.passage.title, commas=True)[0]
    last = name.split()[-1] if name else ""
    if not last.islower() or " " not in name or not re.search(re.escape(name), asked.body, re.I):
        return ""
    told = {stem(word) for word in WORD.findall(asked.passage.text.lower())}
    return "" if stem(last) in told else "takes a heading for a name"


def _told(asked: Asked) -> str:
    """Find a word, no name, that the passage does not have near the answer, and a subject of another sentence."""
    stems = {stem(word) for word in WORD.findall(asked.near.lower())}
    in_life = bool(_LIFE.search(asked.passage.text[:_OPENING])) and asked.answer in asked.passage.text[:_OPENING]
    names = []
    for word in WORD.findall(asked.body)[1:]:
        low = word.lower()
        if word[:1].isupper():
            names.append(word)
            continue
        known = low in FUNCTION or low in GENERAL or len(low) < 3 or bool(stands_for(stem(low)) & stems)
        if not known and not (in_life and (_BORN.fullmatch(low) or _DIED.fullmatch(low))):
            return f"says what its passage does not: {word}"
    named = [not names or any(name in one for name in names) or _ANAPHOR.match(one) for one in asked.sentences]
    return "is about something that its answer's sentence does not name" if named and not any(named) else ""


def stem(word: str) -> str:
    """Return the first letters of a word: rough, but it joins *directed* and *director*."""
    return re.sub(r"['’]s$", "", word)[:5]


@lru_cache(maxsize=4096)
def stands_for(root: str) -> frozenset[str]:
    """Return the stems that may stand for a stem: those of the same meaning, and of other forms of the word."""
    stems = {root, *(other for group in _SAME if root[:4] in {same[:4] for same in group} for other in group)}
    short = re.sub(r"(?:ed|es|s|ing|e|d)$", "", root)
    if len(short) >= 3:
        stems |= {f"{short}{ending}"[:5] for ending in ("", "e", "s", "ed", "es", "ing", "er")}
    return frozenset(stems)


def past_forms(verb: str) -> set[str]:
    """Return how a regular verb's past may be written."""
    return {f"{verb}ed", f"{verb}d", f"{verb}{verb[-1]}ed", f"{verb.removesuffix('y')}ied"}


_RULES: tuple[Callable[[Asked], str], ...] = (_form, _names, _times, _lives, _kind_of_answer, _about_something)
_SLIPS: tuple[Callable[[Asked], str], ...] = (_small_letters, _grammar, _heading, _told)
