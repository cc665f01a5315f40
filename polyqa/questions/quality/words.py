"""Words of English that the rules know, and when two words may stand for the same."""

import re
from functools import lru_cache

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


CONTINENTS = frozenset({"Africa", "Antarctica", "Asia", "Europe", "North America", "Oceania", "South America"})
"""None of them is a country, too."""
