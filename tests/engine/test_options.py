"""Options as a class and as keyword arguments."""

import typing

from jaxbandits.engine.options import Options, Settings


def test_settings_are_the_fields_of_options():
    assert typing.get_type_hints(Settings) == typing.get_type_hints(Options)
