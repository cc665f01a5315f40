from collections.abc import Iterator

import pytest
import stored_results


@pytest.fixture(autouse=True)
def _the_models_themselves() -> Iterator[None]:
    with stored_results.bypassed():
        yield
