"""Output types that accept what language models really write.

DSPy parses a typed field with ``json_repair`` and hands the outcome to pydantic. The types below
put a validator in front, so that a numbered list, ``DQ 1: … / DA 1: …`` lines, one object where a
list is due, ``Yes.`` or ``[ambsub]`` count as the value they plainly mean. Text that means nothing
still fails, with the text in the message.

They are classes with a schema of their own, as pydantic strips ``Annotated`` from a signature's fields
and with it the validator, and DSPy takes nothing but classes when it copies or loads a signature.
Each is named after the type it stands for, because DSPy shows that name to the language model.
"""

from .interpretations import clean_readings as clean_readings
from .interpretations import parse_interpretations as parse_interpretations
from .labels import parse_ambiguity_types as parse_ambiguity_types
from .labels import parse_grade as parse_grade
from .labels import parse_support as parse_support
from .labels import parse_usefulness as parse_usefulness
from .labels import parse_yes_no as parse_yes_no
from .lists import parse_answers as parse_answers
from .lists import parse_questions as parse_questions
from .long_answers import clean_answer as clean_answer
from .long_answers import tells_nothing as tells_nothing
from .nothing import gives_nothing as gives_nothing
from .nothing import is_null as is_null
from .nothing import looks_like_refusal as looks_like_refusal
from .numbers import parse_numbers as parse_numbers
from .text import without_thoughts as without_thoughts
from .types import LINE_FOR_EACH as LINE_FOR_EACH
from .types import PASSAGE_NUMBER as PASSAGE_NUMBER
from .types import AmbiguityTypes as AmbiguityTypes
from .types import Answers as Answers
from .types import AtMost as AtMost
from .types import EvidenceFirst as EvidenceFirst
from .types import FewWords as FewWords
from .types import Grades as Grades
from .types import Interpretations as Interpretations
from .types import LineForEach as LineForEach
from .types import Numbers as Numbers
from .types import OneLine as OneLine
from .types import PassageNumber as PassageNumber
from .types import Questions as Questions
from .types import Readings as Readings
from .types import Sentences as Sentences
from .types import Supports as Supports
from .types import Usefulness as Usefulness
from .types import VerdictLines as VerdictLines
from .types import Verdicts as Verdicts
from .types import YesNo as YesNo
