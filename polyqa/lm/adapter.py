"""A DSPy adapter whose prompts hold what a language model needs, once, and no more.

DSPy's ChatAdapter lists the fields, shows their layout with a JSON schema for every typed one, and repeats the
output fields at the end of the question. `LeanAdapter` says all of that in one line per field.
"""

import re
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import dspy
import json_repair
from dspy.adapters.utils import annotation_allows_none, apply_output_field_defaults
from dspy.utils.exceptions import AdapterParseError
from pydantic.fields import FieldInfo

from polyqa.replies import without_thoughts
from polyqa.replies.text import out_of_brackets

from .fields import description, for_small_models, form_of, hint, is_text, read_value, type_notes, write_value
from .headers import escape, key_of, needs_no_header, section, sections

GIVEN = "You get:"
ASKED = "You reply under these headers:"
ASKED_ONE = "You reply with nothing but:"
INCOMPLETE = "(parts of this example are left out)"
NOT_SUPPLIED = "(left out)"
_OBJECT = re.compile(r'\{\s*"')
_NO_INPUT = "Now reply."


class LeanAdapter(dspy.ChatAdapter):
    """Renders a signature in as few tokens as it takes; reads replies in any usual dress.

    The system message is the signature's instructions, a line for each input and a line for each output:
    ``## field (what it is: how it is written)``. Demos are turns of user and assistant; the last message is the
    inputs and nothing else. What is the same for every question stands first, so that providers cache it.

    polyqa's own types are described in words, such as ``one a line as 1. reading | answer``, every other type as DSPy
    does it. Where there is one output field, the whole reply is that field and needs no header.

    A reply that cannot be read raises `dspy.utils.exceptions.AdapterParseError`. There is no second call in another
    format, as in `dspy.ChatAdapter`. Settings are those of `dspy.Adapter`.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(use_json_adapter_fallback=False, **settings)

    def __call__(
        self,
        lm: dspy.BaseLM,
        lm_kwargs: dict[str, Any],
        signature: type[dspy.Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Ask a language model; one that takes a grammar can write nothing but a reply that can be read."""
        lm_kwargs, signature = _for(lm, lm_kwargs, signature, demos, inputs)
        return super().__call__(lm, lm_kwargs, signature, demos, inputs)

    async def acall(
        self,
        lm: dspy.BaseLM,
        lm_kwargs: dict[str, Any],
        signature: type[dspy.Signature],
        demos: list[dict[str, Any]],
        inputs: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """See `__call__`."""
        lm_kwargs, signature = _for(lm, lm_kwargs, signature, demos, inputs)
        return await super().acall(lm, lm_kwargs, signature, demos, inputs)

    def format_system_message(self, signature: type[dspy.Signature]) -> str:
        """Return the instructions, the inputs, the outputs."""
        forms = self.format_task_description, self.format_field_description, self.format_field_structure
        return "\n\n".join(filter(None, (form(signature) for form in forms)))

    def format_task_description(self, signature: type[dspy.Signature]) -> str:
        """Return the signature's instructions."""
        return textwrap.dedent(signature.instructions).strip()

    def format_field_description(self, signature: type[dspy.Signature]) -> str:
        """Return the names of the inputs, with what their descriptions say."""
        lines = [
            _line(name, description(name, field), field)
            for name, field in signature.input_fields.items()
            if field.annotation is not dspy.History  # a conversation is shown as the messages it consists of
        ]
        return "\n".join([GIVEN, *lines]) if lines else ""

    def format_field_structure(self, signature: type[dspy.Signature]) -> str:
        """Return the skeleton of the reply, a line for each output."""
        lines = [_line(name, hint(name, field), field) for name, field in signature.output_fields.items()]
        if len(lines) < 2:
            return "\n".join([ASKED_ONE, *lines]) if lines else ""
        return "\n".join([ASKED, *(f"## {line}" for line in lines)])

    def format_user_message_content(
        self,
        signature: type[dspy.Signature],
        inputs: dict[str, Any],
        prefix: str = "",
        suffix: str = "",
        main_request: bool = False,
    ) -> str:
        """Return the inputs, in the signature's order; a single one needs no header."""
        fields = signature.input_fields
        texts = {
            name: escape(write_value(field, inputs[name]), tuple(fields))
            for name, field in fields.items()
            if name in inputs and (main_request or inputs[name] is not None)
        }
        # DSPy's prefix says at length that a demo is incomplete; a lack in the reply shows by itself.
        head = INCOMPLETE if prefix and len(texts) < len(fields) else ""
        bare = len(fields) == 1 and all(text.strip() and not text.startswith("## ") for text in texts.values())
        parts = list(texts.values()) if bare else [section(name, text) for name, text in texts.items()]
        content = "\n\n".join(part for part in (head, *parts, suffix) if part).strip()
        return content or (_NO_INPUT if main_request else "")

    def format_assistant_message_content(
        self, signature: type[dspy.Signature], outputs: dict[str, Any], missing_field_message: str | None = None
    ) -> str:
        """Return the outputs as a reply shows them."""
        fields = signature.output_fields
        texts = {
            name: escape(write_value(field, outputs[name]), tuple(fields))
            if outputs.get(name) is not None
            else (NOT_SUPPLIED if missing_field_message else str(None))
            for name, field in fields.items()
        }
        if len(texts) == 1:
            ((name, text),) = texts.items()
            if needs_no_header(text, name):
                return text
        return "\n\n".join(section(name, text) for name, text in texts.items())

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        """Read a reply.

        Raises
        ------
        AdapterParseError
            If a field that has no default is missing, or the text of one is none of its type's.
        """
        texts = _find(signature, without_thoughts(completion))
        values: dict[str, Any] = {}
        for name, text in texts.items():
            try:
                values[name] = read_value(signature.output_fields[name], text)
            except Exception as error:
                reason = f"Failed to parse field {name} with value {text!r:.500}: {error}"
                raise self._unreadable(signature, completion, reason, values) from error
        values = apply_output_field_defaults(signature, values)
        if missing := [name for name in signature.output_fields if name not in values]:
            raise self._unreadable(signature, completion, f"The reply has no {', '.join(missing)}.", values)
        return values

    def _unreadable(
        self, signature: type[dspy.Signature], reply: str, reason: str, read: dict[str, Any]
    ) -> AdapterParseError:
        return AdapterParseError(type(self).__name__, signature, reply, reason, parsed_result=read)


def configured_adapter() -> dspy.Adapter:
    """Return the adapter that the user configured in DSPy, else a lean one."""
    return dspy.settings.adapter or LeanAdapter()


def adapter_name() -> str:
    """Return the name of `configured_adapter`, as results and artifacts record it."""
    return type(configured_adapter()).__name__


def _for(
    lm: dspy.BaseLM,
    settings: dict[str, Any],
    signature: type[dspy.Signature],
    demos: list[Any],
    inputs: Mapping[str, Any],
) -> tuple[dict[str, Any], type[dspy.Signature]]:
    """Return settings and signature of a call as they suit a language model.

    One that takes a grammar gets that of the replies, and, if no demo shows another form, is asked for readings in the
    form for small models. Where the probabilities of a label are asked for, the label is read from them, whatever else
    a reply says. To one whose ``takes_grammar`` was set to False no grammar goes, not even that of a predictor.
    """
    all_settings = {**getattr(lm, "kwargs", {}), **settings}
    extra = all_settings.get("metadata") or {}
    takes = getattr(lm, "takes_grammar", None)
    if takes is False and "grammar" in extra:
        return {**settings, "metadata": {name: value for name, value in extra.items() if name != "grammar"}}, signature
    if not takes or all_settings.get("logprobs") or "grammar" in extra:
        return settings, signature

    from .grammar import reply_grammar  # few language models take one

    call_signature = signature if demos else for_small_models(signature)
    grammar = reply_grammar(call_signature, inputs)
    return (settings if grammar is None else {**settings, "metadata": {**extra, "grammar": grammar}}), call_signature


def _line(name: str, words: str, field: FieldInfo) -> str:
    notes = [f"\n{textwrap.indent(note, '    ')}" for note in type_notes(field)]
    return "".join([f"{name} ({words})" if words else name, *notes])


def _find(signature: type[dspy.Signature], text: str) -> dict[str, Any]:
    """Return the fields of a reply: text, or values if the reply is a JSON object of fields."""
    if not text:
        return {}
    if text.startswith(("{", "```")) and (values := _values(signature, text)):
        return values
    fields = signature.output_fields
    text_fields = [name for name, field in fields.items() if is_text(field.annotation)]
    if len(fields) == 1 and text_fields and _OBJECT.match(text):
        return {}  # JSON that was cut off, or has other fields, is no text
    needed = {
        name for name, field in fields.items() if field.is_required() and not annotation_allows_none(field.annotation)
    }
    hints = {name: hint(name, field) for name, field in fields.items()}
    if len(fields) == 1 and text_fields:
        text = out_of_brackets(text, text_fields[0], hints[text_fields[0]])
    texts: dict[str, Any] = dict(sections(text, hints, text_fields=text_fields, needed=needed))
    if len(fields) > 1 and not texts.keys() >= needed and "{" in text:
        return _values(signature, text[text.index("{") : text.rfind("}") + 1]) or texts
    return texts


def _values(signature: type[dspy.Signature], text: str) -> dict[str, Any]:
    """Return the fields that a JSON object holds; none if the object is itself the value of the only field."""
    fields = signature.output_fields
    body = re.sub(r"\A```\w*\s*|\s*```\Z", "", text)
    if not body.startswith("{"):
        return {}
    try:
        values = json_repair.loads(body)  # it tries the strict parser first
    except RecursionError:
        return {}
    if not isinstance(values, dict):
        return {}
    names = {key_of(name): name for name in fields}
    field_values = {names[key_of(key)]: value for key, value in values.items() if key_of(key) in names}
    if len(fields) == 1 and field_values:
        (field,) = fields.values()
        if not is_text(field.annotation) and form_of(field.annotation) is None:
            with suppress(ValueError):
                read_value(field, text)
                return {}
    return field_values
