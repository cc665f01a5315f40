import sys

import pytest

from lab.load import measure


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")
def test_a_server_keeps_within_the_limits_of_a_user() -> None:
    load = measure(80, 48, 512, flood=300)
    assert load.statuses == {200: 80}
    assert load.recovered
    assert load.files < 500
    assert load.memory < 2_000
    assert load.threads < 256
    assert load.log < 100_000
