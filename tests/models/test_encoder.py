import pickle

import numpy as np
import pytest

from polyqa.base.errors import PolyqaError
from polyqa.models import Encoder
from polyqa.models.compact import minilm_path
from polyqa.models.loading import cpu_has_bfloat16, resolve_precision

TEXTS = ["A kite climbs.", "Green tea is steamed.", "", "Old ice is blue.", "Grünes Eis 🧊"]


def test_a_vector_of_unit_length_for_each_text(encoder: Encoder) -> None:
    vectors, none = encoder.encode(TEXTS), encoder.encode([])
    assert (vectors.shape, none.shape) == ((5, 384), (0, 0))
    assert vectors.dtype == none.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=5e-3)


def test_the_order_is_that_of_the_texts(encoder: Encoder) -> None:
    forward, backward = encoder.encode(TEXTS), encoder.encode(TEXTS[::-1])
    np.testing.assert_array_equal(forward, backward[::-1])
    fresh = Encoder().encode([TEXTS[3], TEXTS[0], TEXTS[3]])
    np.testing.assert_array_equal(fresh[0], fresh[2])
    assert (np.abs(fresh[0] - fresh[1]) > 0.01).any()
    np.testing.assert_allclose(fresh[:2], forward[[3, 0]], atol=2e-2)


def test_the_memory_gives_the_same_values() -> None:
    encoder = Encoder()
    first = encoder.encode(["Old ice is blue."])
    again = encoder.encode(["A kite climbs over the harbour wall, higher and higher.", "Old ice is blue.", "Tea."])
    np.testing.assert_array_equal(again[1], first[0])
    first[:] = 0  # what was given out is the caller's
    np.testing.assert_array_equal(encoder.encode(["Old ice is blue."])[0], again[1])


def test_similar_texts_are_near(encoder: Encoder) -> None:
    matrix = encoder.similarity(
        ["What is the tallest peak?", "How do I bake bread?"],
        ["a recipe for a sourdough loaf", "the highest mountain", "rules of chess"],
    )
    assert matrix.shape == (2, 3)
    assert matrix.argmax(axis=1).tolist() == [1, 0]
    assert encoder.similarity(["one"], ["one"])[0, 0] == pytest.approx(1, abs=1e-2)
    transposed = encoder.similarity(["rules of chess"], ["How do I bake bread?"])
    assert transposed[0, 0] == pytest.approx(matrix[1, 2], abs=1e-6)


@pytest.mark.parametrize(("left", "right"), [(0, 2), (2, 0), (0, 0)])
def test_similarity_of_nothing(encoder: Encoder, left: int, right: int) -> None:
    assert encoder.similarity(TEXTS[:left], TEXTS[:right]).shape == (left, right)


def test_a_text_beyond_the_window_is_cut(encoder: Encoder) -> None:
    long = "The kite climbs over the harbour. " * 200
    same, other = encoder.encode([long + "Tea.", "Tea is steamed."])
    np.testing.assert_allclose(same, encoder.encode([long])[0], atol=2e-2)
    assert same @ other < 0.5


def test_bfloat16_is_near_float32() -> None:
    exact = Encoder(precision="float32").encode(TEXTS)
    fast = Encoder(precision="bfloat16").encode(TEXTS)
    assert (np.einsum("ij,ij->i", exact, fast) / np.linalg.norm(fast, axis=1) >= 0.999).all()
    assert (exact != fast).any()


@pytest.mark.parametrize("named", ["", "auto", "float32", "bfloat16"])
def test_auto_takes_what_the_environment_says_or_the_machine_has(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYQA_PRECISION", named)
    own = "bfloat16" if cpu_has_bfloat16() else "float32"
    assert resolve_precision("auto") == (own if named in ("", "auto") else named)
    assert resolve_precision("float32") == "float32"
    assert resolve_precision("bfloat16") == "bfloat16"


@pytest.mark.parametrize(
    ("able", "fast"),
    [
        ({"amx_bf16": True, "avx512_bf16": True, "cpu_name": "Intel(R) Xeon(R)"}, True),
        ({"amx_bf16": False, "avx512_bf16": True, "cpu_name": "AMD EPYC"}, True),
        ({"amx_bf16": False, "avx512_bf16": True, "cpu_name": "Intel(R) Xeon(R)"}, False),
        ({"amx_bf16": False, "avx512_bf16": False, "cpu_name": "AMD EPYC"}, False),
        ({"architecture": "aarch64"}, False),
    ],
)
def test_bfloat16_is_taken_where_it_is_clearly_faster(
    able: dict[str, object], fast: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: able)
    assert cpu_has_bfloat16.__wrapped__() is fast


def test_a_precision_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYQA_PRECISION", "int8")
    with pytest.raises(PolyqaError, match="POLYQA_PRECISION is auto, float32, bfloat16, not 'int8'"):
        resolve_precision("auto")


@pytest.mark.slow
def test_the_embedded_encoder_is_that_of_sentence_transformers() -> None:
    long = "The kite climbs over the harbour. " * 100
    texts = [*TEXTS, " \tA KITE  climbs.\n", long, *(long[: 7 * n] for n in range(1, 60))]
    embedded = Encoder(precision="float32")
    original = Encoder(str(minilm_path()), precision="float32")
    np.testing.assert_allclose(embedded.encode(texts), original.encode(texts), atol=1e-5)


def test_a_pickle_holds_no_weights() -> None:
    encoder = Encoder(precision="float32")
    vectors = encoder.encode(TEXTS)
    pickled = pickle.dumps(encoder)
    assert len(pickled) < 1000
    loaded = pickle.loads(pickled)
    assert (loaded.name, loaded.precision) == ("all-MiniLM-L6-v2", "float32")
    assert loaded.__getstate__() == encoder.__getstate__()
    np.testing.assert_allclose(loaded.encode(TEXTS), vectors, atol=1e-6)


def test_lone_surrogates_are_encoded_as_replacement_characters(encoder: Encoder) -> None:
    surrogates, replacements = encoder.encode(["The caf\udce9 is green. \ud800", "The caf\ufffd is green. \ufffd"])
    assert np.array_equal(surrogates, replacements)
