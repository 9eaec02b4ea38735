"""Forms of JSON values, which describe the structure that a file must have when it is read.

A form is a type (a bool is not a number), `[form]` for a list, `{"name": form}` for an object with at least these names
(`"name?"` for a name that may be missing), `{str: form}` for an object with any names, or `(form, None)` for a value
that may be null.
"""

from typing import Any, TypeAlias

JsonObject: TypeAlias = dict[str, Any]


def misfit(value: Any, form: Any, where: str = "") -> str | None:
    """Return a message about the first part of a JSON value that does not have its form; None if every part has it.

    An example of a message is "runs[2].name must be text".

    Args:
      value: the value that was read.
      form: the form that it should have.
      where: name of the value in the message; "" if the value is the whole file.
    """
    if isinstance(form, tuple):
        return None if value is None else misfit(value, form[0], where)
    parts: list[tuple[Any, Any, str]] = []
    if isinstance(form, list):
        if not isinstance(value, list):
            return _needs(where, "a list")
        parts = [(item, form[0], f"{where}[{i}]") for i, item in enumerate(value)]
    elif isinstance(form, dict):
        if not isinstance(value, dict):
            return _needs(where, "an object")
        for name, part in form.items():
            if name is str:
                parts += [(item, part, _join(where, key)) for key, item in value.items()]
            elif (key := name.removesuffix("?")) in value:
                parts.append((value[key], part, _join(where, key)))
            elif not name.endswith("?"):
                return f"{_join(where, key)[:80]} is missing"
    elif not _is(form, value):
        return _needs(where, _WORDS[form])
    return next((found for part in parts if (found := misfit(*part)) is not None), None)


_WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}


def _is(kind: type, value: object) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _needs(where: str, what: str) -> str:
    return f"{where[:80] or 'it'} must be {what}"
