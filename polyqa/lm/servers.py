"""What is known of the servers of language models: their addresses, their patience, and the settings that they take."""

import ipaddress
import re
from collections.abc import Mapping
from difflib import get_close_matches
from inspect import signature
from typing import Any
from urllib.parse import urlsplit

import dspy
from dspy.clients.backend_selection import CLIENT_KEYS, select_backend
from dspy.clients.engines import LM15Engine
from dspy.lm15 import Adaptation, LM15Error, Request, RouterConfig, request_from_openai_chat
from dspy.utils.exceptions import LMError

from polyqa.base.errors import PolyqaError

TIMEOUT = 300.0
"""Seconds that one call may take, if nothing else is set."""
NEAR_TIMEOUT = 1_800.0
"""The same for a server on this machine or in its network: it may read a prompt for minutes before its first word."""
_OLLAMA = {"ollama", "ollama_chat"}
_NEAR = {*_OLLAMA, "local", "lm_studio", "hosted_vllm", "vllm", "llamafile", "xinference", "docker_model_runner"}
"""Providers whose server stands on this machine unless an address says otherwise."""
_HAS_ROOT = {*_OLLAMA, "anthropic"}
"""Providers whose address is one without ``/v1`` to LiteLLM, and one with it to DSPy's own client."""
_ENDPOINT = re.compile(r"/(?:chat/completions|completions|responses|messages|api/chat|api/generate)$")
_LM_SETTINGS = {*signature(dspy.LM).parameters, *CLIENT_KEYS, "rollout_id", "n", "prompt_cache"} - {"kwargs"}
_OPENAI_NAMES = (
    "top_p stop seed frequency_penalty presence_penalty logprobs top_logprobs response_format reasoning_effort "
    "logit_bias user metadata service_tier top_k"
)
_OPENAI_SETTINGS = frozenset(_OPENAI_NAMES.split())
_SAMPLING = {"temperature", "max_tokens"}
_ALIKE = 0.88
"""From which similarity on an unknown name is a known one mistyped: `reasoning_format` of llama.cpp is no mistake."""
_FIELDS = {"reasoning_effort": "reasoning", "max_completion_tokens": "max_tokens", "top_logprobs": "logprobs"}


def server_address(name: str, address: str | None, *, litellm: bool = False) -> str | None:
    """Return the address of a server as the client that asks it wants it.

    People copy addresses from documentation with and without ``/v1``, or with the endpoint behind it. An address that
    is meant for one client only, LiteLLM or DSPy's own, is known by the provider, which begins the model's name; of
    others only the endpoint is taken off.

    >>> server_address("ollama_chat/llama3.1", "http://localhost:11434")
    'http://localhost:11434/v1'
    >>> server_address("ollama_chat/llama3.1", "http://localhost:11434/v1/", litellm=True)
    'http://localhost:11434'
    >>> server_address("openai/m", "http://localhost:8000/v1/chat/completions")
    'http://localhost:8000/v1'

    Raises
    ------
    PolyqaError
        If it is none.
    """
    if address is None:
        return None
    if not re.match(r"https?://[^/]", address, re.I):
        raise PolyqaError(f"{address!r:.100} is no address of a server: it begins with http:// or https://.")
    address = _ENDPOINT.sub("", address.rstrip("/"))
    if name.partition("/")[0] not in _HAS_ROOT:
        return address
    root = address.removesuffix("/v1").removesuffix("/api")
    return root if litellm else f"{root}/v1"


def default_timeout(name: str, address: str | None) -> float:
    """Return how many seconds a call of a language model may take, if nothing is said.

    >>> [default_timeout("openai/m", at) for at in (None, "https://api.example.com/v1", "http://192.168.1.5:8000/v1")]
    [300.0, 300.0, 1800.0]
    """
    if address is None:
        return NEAR_TIMEOUT if name.partition("/")[0] in _NEAR else TIMEOUT
    try:
        host = urlsplit(address).hostname or ""
    except ValueError as error:
        raise PolyqaError(f"{address!r:.100} is no address of a server: {error}.") from error
    try:
        near = ipaddress.ip_address(host).is_private
    except ValueError:
        near = "." not in host or host.endswith((".local", ".lan", ".internal", ".localhost"))
    return NEAR_TIMEOUT if near else TIMEOUT


def needs_litellm(lm: dspy.LM, chosen: Mapping[str, Any]) -> bool:
    """Return whether LiteLLM has to ask a server by another address than DSPy's own client; refuse what gets lost.

    DSPy's own client drops some settings that a server has no field for, and leaves others to LiteLLM, which sends what
    it does not know. A setting that its user chose would so be lost without a word.

    Raises
    ------
    PolyqaError
        If a setting's name is mistyped, the client drops one, or this provider's server ignores one.
    """
    provider = lm.model.partition("/")[0]
    unknown = [*not_carried(lm, chosen)]
    if isinstance(lm.engine, str) and not unknown and (lost := _dropped(lm, chosen)):
        if provider in _OLLAMA and lm.engine == "auto":
            unknown = lost
        elif lm.engine != "litellm":
            why = "Leave it out" if lm.engine == "lm15" else "Leave it out, or have LiteLLM send it (engine=litellm)"
            raise PolyqaError(f"{lm.model} would be asked without {lost[0]}: DSPy's own client drops it. {why}.")
    for name in unknown:
        _check_known(lm, name)
    if unknown and lm.engine == "lm15":
        raise PolyqaError(f"Only LiteLLM sends {unknown[0]}, and not at an even pace: leave out --requests-per-minute.")
    return provider in _HAS_ROOT and lm.engine in ("auto", "litellm") and bool(unknown or lm.engine == "litellm")


def not_carried(lm: dspy.LM, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a request in DSPy's form has no place for."""
    names = [name for name in chosen if name not in _LM_SETTINGS and chosen[name] is not None]
    plain_names = [name for name in names if not isinstance(chosen[name], type)]  # of a class DSPy makes a schema first
    return {name: chosen[name] for name in plain_names if not _is_carried(lm, {name: chosen[name]})}


def _is_carried(lm: dspy.LM, settings: Mapping[str, Any]) -> bool:
    """Return whether a request in DSPy's form can hold settings; a value that is none of its setting's is an error."""
    try:
        _request(lm, settings)
    except LM15Error:
        return False
    except (TypeError, ValueError) as error:
        if isinstance(lm.engine, str) or "top_logprobs" in settings:
            return True  # LiteLLM may take it; `top_logprobs` needs `logprobs` beside it
        raise PolyqaError(f"{lm.model} cannot be asked so: {' '.join(str(error).split())}") from error
    return True


def _request(lm: dspy.LM, settings: Mapping[str, Any]) -> Request:
    messages = [{"role": "user", "content": "?"}]
    compat = select_backend(lm).resolution if isinstance(lm.engine, str) else None
    body = {"model": lm.model, "messages": messages, **settings}
    return request_from_openai_chat(body, compat=compat.compat if compat else None)


def _dropped(lm: dspy.LM, chosen: Mapping[str, Any]) -> list[str]:
    """Return which of the chosen settings the client of DSPy would drop or change."""
    try:
        if not select_backend(lm).native:
            return []
        settings = {name: value for name, value in lm.kwargs.items() if name not in _LM_SETTINGS or name in _SAMPLING}
        settings = {name: value for name, value in settings.items() if value is not None}
        before = _changes(lm, {name: value for name, value in settings.items() if name not in chosen})
        changed = {change.field.split(".")[1] for change in _changes(lm, settings) if change not in before}
    except (LMError, LM15Error, TypeError, ValueError):
        return []  # a call says so
    return [name for name in chosen if {name, _FIELDS.get(name, name)} & changed]


def _changes(lm: dspy.LM, settings: Mapping[str, Any]) -> list[Adaptation]:
    planned = LM15Engine(RouterConfig(env={}), model_type=lm.model_type).plan(_request(lm, settings))
    return [change for change in planned if change.action in ("dropped", "clamped", "substituted")]


def _check_known(lm: dspy.LM, name: str) -> None:
    """Refuse a setting whose name is mistyped, as far as that can be told: servers have settings of their own."""
    by_name, known_names, alike = isinstance(lm.engine, str), {*_OPENAI_SETTINGS, *_SAMPLING}, _ALIKE
    provider, _, model = lm.model.partition("/")
    if by_name and name == "num_ctx" and provider not in _OLLAMA:
        raise PolyqaError(
            f"{name} is a setting of Ollama's own API, which {lm.model} is not asked through: the server would "
            f"ignore it. Write ollama_chat/{model}."
        )
    if not by_name:  # on this machine: all settings are known
        from .local import LocalSettings

        known_names, alike = {*known_names, *_LM_SETTINGS, *LocalSettings.__dataclass_fields__}, 0.75
    meant = get_close_matches(name, known_names, 1, alike)
    if by_name and (name in known_names or not meant):
        return
    advice = f"Do you mean {meant[0]}?" if meant else "Check its name."
    body = " What only your server knows goes into extra_body, as JSON." if by_name else ""
    raise PolyqaError(f"{lm.model} has no setting {name!r}. {advice}{body}")
