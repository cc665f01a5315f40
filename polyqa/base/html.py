r"""HTML and Markdown made of anybody's texts: what a text holds is shown, and never acts.

`render` fills a template of ``templates/`` (Jinja). The ending of its name, ``.html`` or ``.md``, decides how every
value is escaped; only what is ``Markup`` already stays as it is. Characters that steer a terminal or turn the direction
of writing are left out, and half a character is shown as U+FFFD.
"""

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .text import printable

if TYPE_CHECKING:
    from jinja2 import Environment

# What Markdown, its tables, raw HTML in it and a notebook's formulas begin with, wherever it stands.
_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~$]|&(?=#?\w+;)")
# A heading, a list, a line.
_AT_START = re.compile(r"[#=]|[+-](?=[\s-]|$)|\d{1,9}(?=[.)](?:\s|$))")


def plain(text: object) -> str:
    r"""Return a text without control characters, half characters, and white space around it or in a row.

    >>> plain(" Titanic\x1b[31m \n (film)")
    'Titanic[31m (film)'
    """
    return _spaced(text).strip()


def _spaced(text: object) -> str:
    return re.sub(r"\s+", " ", printable(str(text)))


def shortened(text: object, most: int) -> str:
    """Return a text of at most so many characters, with an ellipsis if something was left out.

    >>> shortened("When did Titanic come out?", 12)
    'When did Ti…'
    """
    plain_text = plain(text)
    return plain_text if len(plain_text) <= most else plain_text[: most - 1].rstrip() + "…"


def markdown(text: object) -> str:
    r"""Return a text on one line that Markdown shows as it is.

    >>> print(markdown("# <b>5*6</b> & [x](y)"), markdown("1. AT&T"), markdown("-0.9 &lt;"))
    \# \<b\>5\*6\</b\> & \[x\](y) 1\. AT&T -0.9 \&lt;
    """
    escaped = _MARKDOWN.sub(r"\\\g<0>", plain(text))
    if start := _AT_START.match(escaped):
        at = start.end() if start[0].isdigit() else 0
        escaped = f"{escaped[:at]}\\{escaped[at:]}"
    return escaped


def render(template: str, **values: object) -> str:
    """Return a template filled with values, each escaped as the template's ending says.

    Parameters
    ----------
    template
        A file of ``templates/``: ``.html`` or ``.md``.
    """
    return _environment(Path(template).suffix).get_template(template).render(values).rstrip() + "\n"


@cache
def _environment(kind: str) -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def escaped(value: Any) -> Any:
        """Prepare a value for Jinja, which then escapes for HTML all that is not ``Markup``."""
        if hasattr(value, "__html__"):
            return value
        return _spaced(value) if kind == ".html" else Markup(markdown(value))

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["shortened"] = shortened
    return environment
