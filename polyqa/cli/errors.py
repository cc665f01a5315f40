"""Errors for people: one line, and an exit code."""

import typer


def fail(error: Exception) -> int:
    """Print an error on one line; return 2 if the user can mend it, else 1."""
    message, code = explain(error)
    typer.echo(f"polyqa: {message}", err=True)
    return code


def explain(error: Exception) -> tuple[str, int]:
    """Return what to tell the user about an error, and the exit code."""
    from polyqa.signatures import PolyqaError

    text = " ".join(str(error).split())
    if isinstance(error, PolyqaError):
        return text, 2
    named = _language_model_error(error)
    if named is not None:
        return named, 2
    if isinstance(error, (ImportError, OSError)):
        return text, 2
    kind = type(error).__name__
    return f"unexpected {kind}: {text[:300]} (run again with --debug for the traceback, and report it)", 1


def _language_model_error(error: Exception) -> str | None:
    import dspy
    from dspy.utils import exceptions as dspy_errors

    text = " ".join(str(error).split())
    lower = text.lower()
    if isinstance(error, dspy_errors.AdapterParseError):
        reply = " ".join(str(getattr(error, "lm_response", "")).split())[:160]
        return f"the language model's reply could not be read, it began: {reply!r}. Try again, or another model."
    if not isinstance(error, dspy_errors.LMError) and not isinstance(error, dspy.lm15.LM15Error):
        return None
    if any(word in lower for word in ("connect", "unreachable", "refused", "resolve", "timed out", "timeout")):
        return f"the language model's server cannot be reached; check --api-base and that it runs ({text[:160]})"
    if any(word in lower for word in ("api key", "api_key", "credential", "unauthorized", "401", "authentication")):
        return f"the language model's server refused the key; check the provider's key variable ({text[:160]})"
    return f"the language model failed: {text[:300]}"
