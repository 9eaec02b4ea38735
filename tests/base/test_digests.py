"""Digests of values and of this package's source."""

import numpy as np
import pytest

from jaxbandits.base import digests


def test_a_digest_does_not_depend_on_the_order_of_keys_and_tells_values_apart():
    assert digests.digest({"a": 1, "b": [2.0]}) == digests.digest({"b": [2.0], "a": 1})
    values = [1, 1.0, True, "1", None, [1], {"1": 1}, -0.0, 0.0]
    assert len({digests.digest(value) for value in values}) == len(values)
    with pytest.raises(ValueError, match="Out of range float"):
        digests.digest(float("nan"))


def test_type_shape_and_bytes_of_an_array_count():
    arrays = [np.zeros(4), np.zeros((2, 2)), np.zeros(4, np.float32), np.zeros(4, int), -np.zeros(4), np.ones(4)]
    assert len({digests.array_digest(array) for array in arrays}) == len(arrays)
    assert digests.array_digest(np.arange(6)[::2]) == digests.array_digest(np.array([0, 2, 4]))


def test_the_digest_of_the_package_changes_with_a_byte_of_its_source(tmp_path, monkeypatch):
    def digest():
        return digests.package_digest.__wrapped__()

    assert digest() == digests.package_digest()
    monkeypatch.setattr(digests, "_PACKAGE", tmp_path)
    found = {digest()}
    for name, content in (("a.py", "x = 1"), ("b.py", "x = 1"), ("b.py", "x = 2"), ("b.txt", "x = 2")):
        (tmp_path / name).write_text(content)
        found.add(digest())
    assert len(found) == 4  # a file that is no source does not count
