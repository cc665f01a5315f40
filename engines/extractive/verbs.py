"""The verbs that questions are made with: base form, past, participle. A verb that is not here makes none."""

_REGULAR = (
    "abolish accept add adopt announce appear appoint approve arrest arrive automate award bury burn call cancel carry "
    "carve cast close collapse commission complete compose conclude conduct consecrate construct convert create crown "
    "dedicate defeat demolish depart describe design destroy develop die direct discover divorce donate double draft "
    "edit elect electrify end enlarge enter erect establish execute expand explode extend fail film finish flood form "
    "found graduate host inaugurate inherit install introduce invade invent issue join kill land last launch lease "
    "locate marry merge murder move name nickname nominate open ordain organize own paint patent perform plan play "
    "premiere produce promote publish raise ratify rebuild record recover reach release rename reopen repair replace "
    "resign rescue restore retire return sail settle ship sign sponsor stage start supervise survive succeed "
    "transfer translate visit widen"
)
_DOUBLED = {"ship": "shipped", "transfer": "transferred", "plan": "planned"}
_IRREGULAR = (
    "begin began begun|build built built|buy bought bought|catch caught caught|come came come|draw drew drawn|"
    "fall fell fallen|find found found|fly flew flown|give gave given|hold held held|lay laid laid|lead led led|"
    "leave left left|light lit lit|lose lost lost|make made made|rebuild rebuilt rebuilt|rise rose risen|"
    "sell sold sold|sing sang sung|sink sank sunk|stand stood stood|strike struck struck|take took taken|"
    "teach taught taught|win won won|write wrote written|bear bore born|cast cast cast|dig dug dug|"
    "become became become|go went gone|know knew known|hear heard heard|show showed shown|meet met met|"
    "cost cost cost"
)


def _past(base: str) -> str:
    if base in _DOUBLED:
        return _DOUBLED[base]
    if base.endswith("e"):
        return f"{base}d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    return f"{base}ed"


_IRREGULAR_FORMS = [tuple(entry.split()) for entry in _IRREGULAR.split("|")]
_FORMS = [(base, _past(base), _past(base)) for base in _REGULAR.split() if base not in {f[0] for f in _IRREGULAR_FORMS}]
_ALL = [*_FORMS, *_IRREGULAR_FORMS]
BASE_OF_PAST = {past: base for base, past, _ in reversed(_ALL)}
PAST_OF_PARTICIPLE = {participle: past for _, past, participle in reversed(_ALL)}
