# SPDX-License-Identifier: MPL-2.0
"""Subinterpreters, which cannot import the package and leave that of the main one as it is."""

import importlib.util

import pytest

from conftest import run_python

#: The module of subinterpreters has had several names.
MODULE = next(
    (name for name in ("_interpreters", "_xxsubinterpreters") if importlib.util.find_spec(name) is not None), None
)

PROGRAM = """
import sys
import {module} as interpreters

IMPORT = '''
try:
    import {imported}
except ImportError as error:
    assert "only by the main interpreter, not by a subinterpreter" in str(error), error
else:
    raise AssertionError("the import succeeded")
'''

def refused(configuration):
    made = interpreters.create(configuration) if {by_name} else interpreters.create(isolated=configuration)
    failed = (interpreters.exec if {by_name} else interpreters.run_string)(made, IMPORT)
    assert failed is None, failed
    interpreters.destroy(made)

for configuration in ("legacy", "isolated") if {by_name} else (False, True):
    refused(configuration)
    import zlink
    with zlink.Context() as context:
        push, pull = zlink.Push(context), zlink.Pull(context)
        push.connect(pull.bind("inproc://main"))
        push.send(b"x")
        assert pull.recv(timeout=10) == b"x"
        try:
            pull.recv(timeout=0)
        except zlink.Again:
            print("as before", flush=True)
    refused(configuration)
"""


@pytest.mark.skipif(MODULE is None, reason="this Python has no module for subinterpreters")
@pytest.mark.parametrize("imported", ["zlink", "zlink.aio", "zlink._zlink", "zlink.compat"])
def test_a_subinterpreter_is_refused(imported):
    program = PROGRAM.format(module=MODULE, by_name=MODULE == "_interpreters", imported=imported)
    assert run_python(program) == "as before\n" * 2
