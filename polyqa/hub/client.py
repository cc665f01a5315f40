"""The hub's errors in one line, and files of it that are no larger than they may be."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from polyqa.base.errors import PolyqaError

_BAD_TOKEN = "Invalid credentials in Authorization header"
TIMEOUT = 60.0
"""Seconds without a byte after which the hub counts as silent."""


@contextmanager
def told(repo: str, doing: str) -> Iterator[None]:
    """Turn what the hub's client raises into a `PolyqaError` of one line; a hub that is silent is not waited for.

    Parameters
    ----------
    repo
        Of whom it is told.
    doing
        ``pull`` or ``push``: what to do next depends on it.
    """
    import httpx
    from huggingface_hub import constants, errors
    from huggingface_hub.utils import get_session

    client = get_session()
    own, client.timeout = client.timeout, httpx.Timeout(TIMEOUT)  # its own is none: it would wait for ever
    try:
        yield
    except errors.RevisionNotFoundError as error:
        raise PolyqaError(f"{repo} has no such revision: name a branch, a tag or a commit of it.") from error
    except errors.GatedRepoError as error:
        raise PolyqaError(f"{repo} is gated: ask for access on its page, and log in with hf auth login.") from error
    except errors.RepositoryNotFoundError as error:
        raise _nothing(repo, doing) from error
    except errors.OfflineModeIsEnabled as error:
        raise PolyqaError("The hub is switched off by HF_HUB_OFFLINE; unset it to use the hub.") from error
    except errors.LocalTokenNotFoundError as error:
        raise PolyqaError("The hub does not know you: log in with hf auth login, or set HF_TOKEN.") from error
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        if status == 401 and doing == "pull" and error.response.headers.get("X-Error-Message") != _BAD_TOKEN:
            raise _nothing(repo, doing) from error  # the hub tells strangers no more of what is not there
        if status in (401, 403):
            raise PolyqaError(
                f"The hub refused to {doing} {repo} ({status}): log in with hf auth login, or set HF_TOKEN to a token "
                f"that may {'write' if doing == 'push' else 'read'} there."
            ) from error
        said = _line(error.server_message or error)
        raise PolyqaError(f"The hub could not {doing} {repo} ({status}: {said}). Try again.") from error
    except (httpx.RequestError, ConnectionError) as error:
        raise PolyqaError(
            f"The hub at {constants.ENDPOINT} cannot be reached ({_line(error) or type(error).__name__}). Check the "
            "network, and HF_ENDPOINT if it is set."
        ) from error
    except (ValueError, LookupError, TypeError) as error:  # an answer that is not the hub's
        raise PolyqaError(f"{constants.ENDPOINT} did not answer as the hub does ({_line(error)}).") from error
    finally:
        client.timeout = own


def _nothing(repo: str, doing: str) -> PolyqaError:
    mend = "check the name" if doing == "pull" else "check the owner"
    return PolyqaError(
        f"There is no {repo} on the hub, or it is private: {mend}, or log in with hf auth login (or HF_TOKEN)."
    )


def require_name(repo: str) -> None:
    """Check the name of a repository.

    Raises
    ------
    PolyqaError
        If it is not ``OWNER/NAME``.
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repo)
    except HFValidationError as error:
        raise PolyqaError(f"{repo!r:.120} is no name on the hub: give OWNER/NAME.") from error
    if "/" not in repo:
        raise PolyqaError(f"{repo!r:.120} has no owner: give OWNER/NAME.")


def _line(error: object) -> str:
    return " ".join(str(error).split())[:200]


def download(repo: str, repo_type: str, name: str, *, commit: str, most: int) -> bytes:
    """Return a file of a commit.

    Parameters
    ----------
    most
        Bytes. What is larger is not downloaded to its end, whatever the hub says of its size.

    Raises
    ------
    PolyqaError
        If it is larger, or the hub sent the file of another commit.
    """
    from huggingface_hub import hf_hub_url
    from huggingface_hub.constants import HUGGINGFACE_HEADER_X_REPO_COMMIT
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    url = hf_hub_url(repo, name, repo_type=repo_type, revision=commit)
    headers = {**build_hf_headers(), "Accept-Encoding": "identity"}
    data = bytearray()
    with get_session().stream("GET", url, headers=headers, follow_redirects=True) as response:
        if response.status_code >= 400:
            response.read()
        hf_raise_for_status(response)
        for answer in (*response.history, response):
            if answer.headers.get(HUGGINGFACE_HEADER_X_REPO_COMMIT, commit) != commit:
                raise PolyqaError(f"The hub sent {name} of another commit of {repo}; try again.")
        for part in response.iter_bytes():
            data += part
            if len(data) > most:
                raise PolyqaError(f"{name} of {repo} is larger than {most >> 20} MB, which no such file is.")
    return bytes(data)


def require_same(repo: str, name: str, data: bytes, listed: Any) -> None:
    """Check a file against the hash that the commit lists for it.

    Raises
    ------
    PolyqaError
        If it is another file, such as half of one.
    """
    lfs = getattr(listed, "lfs", None)
    if lfs is not None:
        same = hashlib.sha256(data).hexdigest() == lfs.sha256
    elif listed.blob_id is not None:
        own = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()  # as git names it
        same = own == listed.blob_id
    else:
        same = listed.size in (None, len(data))
    if not same:
        raise PolyqaError(f"{name} of {repo} came damaged: it is not the file that the commit lists. Pull it again.")
