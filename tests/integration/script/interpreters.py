# SPDX-License-Identifier: Apache-2.0
# A function of one interpreter, which runs a function of another one.
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters


def outer():
    interpreters.run_string(interpreters.create(),
                            "import time\ndef inner():\n    time.sleep(600)\ninner()\n")


outer()
