"""Pure values and functions: no file, no clock, no randomness; those come in as arguments.

The version of the program stands here, below all that says it; the wheel has it from here.
"""

__version__ = "0.1.0"
