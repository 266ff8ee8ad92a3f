"""The version of the program; the wheel has it from here."""

__version__ = "0.1.0"
