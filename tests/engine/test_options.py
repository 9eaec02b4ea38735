"""Options as a class and as keyword arguments."""

import typing

import pytest

from jaxbandits.base.errors import InputError
from jaxbandits.engine.options import Options, Settings, check_seeds


def test_settings_are_the_fields_of_options():
    assert typing.get_type_hints(Settings) == typing.get_type_hints(Options)


def test_all_indices_of_seeds_may_be_used_but_no_more():
    check_seeds(0, 2**31, "all seeds")
    check_seeds(2**31 - 1, 1, "one seed")
    with pytest.raises(InputError, match="with 4 groups of 2 seeds, first_seed can be at most 2,147,483,640, got"):
        check_seeds(2**31 - 7, 8, "4 groups of 2 seeds")
    with pytest.raises(InputError, match="with too many seeds, first_seed has no allowed value"):
        check_seeds(0, 2**31 + 1, "too many seeds")
