# SPDX-License-Identifier: MPL-2.0
"""Signatures of what the extension has, for inspect.signature, help() and editors.

A signature is made when it is asked for, so that `inspect` is imported only then.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from . import _zlink

if TYPE_CHECKING:
    import inspect

_DEFAULT = re.compile(r"\\(\d+)")


def signature_of(function: Any) -> inspect.Signature:
    """The signature of a function of nanobind, from the text of its declaration."""
    import __future__

    import inspect

    text, _, defaults = function.__nb_signature__[0]
    names: dict[str, Any] = {"_defaults": defaults}
    # Defaults that are not in the text are there as numbers: "\\0".
    declaration = _DEFAULT.sub(r"_defaults[\1]", text) + ": ..."
    exec(compile(declaration, "<zlink>", "exec", __future__.annotations.compiler_flag, True), names)
    return inspect.signature(names[function.__name__])


class ClassSignature:
    """The attribute __signature__ of a class, and of its subclasses that are constructed like it."""

    def __init__(self, owner: type) -> None:
        self._init: object = owner.__init__  # type: ignore[misc]

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if owner.__init__ is not self._init:  # type: ignore[misc]
            raise AttributeError("__signature__")
        return self.make()

    def make(self) -> inspect.Signature:
        """The signature of the class."""
        import inspect

        if not hasattr(self._init, "__nb_signature__"):
            return inspect.Signature()  # The class has no constructor.
        own = signature_of(self._init)
        return own.replace(parameters=list(own.parameters.values())[1:], return_annotation=own.empty)


def _describe(owner: Any) -> None:
    """Gives signatures to a class or module of the extension and its functions."""
    for name, value in list(vars(owner).items()):
        # Python calls those with underscores by a class's slots, which would be made anew.
        if type(value).__name__ in ("nb_func", "nb_method") and not name.startswith("_"):
            setattr(owner, name, _zlink._described(value))
        elif isinstance(value, type):
            value.__signature__ = ClassSignature(value)  # type: ignore[attr-defined]
            _describe(value)


_describe(_zlink)
