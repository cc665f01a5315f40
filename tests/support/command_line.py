"""What the fixtures `run`, `printed` and `refused` are, which run a command line."""

from collections.abc import Callable

Run = Callable[..., tuple[int, str, str]]
Printed = Callable[..., str]
Refused = Callable[..., str]
