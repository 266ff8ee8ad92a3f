"""The command line of one verb, read by its declaration.

A line without mistakes is read here, in microseconds. Anything else (`--help`, an unknown option, a number that is none)
goes to argparse, made from the same declaration: importing and building it takes a quarter of a capture's budget.
"""

from __future__ import annotations

from cortex.interfaces.declare import Declaration, Parameter

GLOBAL_OPTIONS = (
    Parameter(
        "vault",
        "str",
        "",
        True,
        "the vault; by default $CORTEX_VAULT, else the nearest one upwards",
    ),
    Parameter("json", "bool", False, True, "answer with one JSON object"),
)
SHORT_FLAGS = {"number": "-n"}  # options that people type often enough to want one letter


def parse(name: str, declared: Declaration, words: list[str]) -> dict[str, object]:
    """The value of every parameter. Explains and exits where argparse does."""
    values = try_parse(declared, words)
    return _parse_with_argparse(name, declared, words) if values is None else values


def flags_of(parameter: Parameter) -> list[str]:
    """How an option is written."""
    long = f"--{parameter.name.replace('_', '-')}"
    return [SHORT_FLAGS[parameter.name], long] if parameter.name in SHORT_FLAGS else [long]


def try_parse(declared: Declaration, words: list[str]) -> dict[str, object] | None:
    """The values of a line without mistakes, else None."""
    parameters = (*declared.parameters, *GLOBAL_OPTIONS)
    options = {flag: one for one in parameters if one.is_option for flag in flags_of(one)}
    values = {one.name: one.default for one in parameters}
    given: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            given += rest
        elif not word.startswith("-") or word == "-":
            given.append(word)
        else:
            flag, equals, value = word.partition("=")
            option = options.get(flag)
            if (
                option is None and word[1] != "-" and word[:2] in options and word[2:].isdecimal()
            ):  # -n5
                option, equals, value = options[word[:2]], "=", word[2:]
            if option is None and len(word) > 2 and word[1] != "-":
                given.append(word)  # `-word` in a query means without it
                continue
            if option is None or (option.type == "bool" and equals):
                return None
            if option.type == "bool":
                values[option.name] = True
                continue
            if not equals:
                value = next(rest, "-?")
                if value.startswith("-") and value != "-":
                    return None
            if option.type == "int" and not value.isdecimal():
                return None
            values[option.name] = int(value) if option.type == "int" else value
    arguments = [one for one in parameters if not one.is_option]
    # The last argument takes the rest of the line, so that a query or a text needs no quotes.
    for place, one in enumerate(arguments):
        words_of_it = given[place:] if one is arguments[-1] else given[place : place + 1]
        if words_of_it:
            values[one.name] = " ".join(words_of_it)
    return (
        None
        if (given and not arguments) or any(values[one.name] is None for one in arguments)
        else values
    )


def _parse_with_argparse(name: str, declared: Declaration, words: list[str]) -> dict[str, object]:
    import argparse  # noqa: PLC0415  see the module's docstring

    examples = "".join(f"\n  {example}" for example in declared.examples)
    parser = argparse.ArgumentParser(
        prog=f"cortex {name}",
        description=f"{declared.summary}\n\n{declared.description}".strip(),
        epilog=f"example{'s' if len(declared.examples) > 1 else ''}:{examples}"
        if examples
        else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    arguments = [one for one in declared.parameters if not one.is_option]
    for one in (*declared.parameters, *GLOBAL_OPTIONS):
        meaning = one.meaning.replace("%", "%%")
        if not one.is_option:
            many = ("*" if one.default is not None else "+") if one is arguments[-1] else None
            parser.add_argument(
                one.name, nargs=many, default=one.default, help=meaning, metavar=one.name.upper()
            )
        elif one.type == "bool":
            parser.add_argument(*flags_of(one), dest=one.name, action="store_true", help=meaning)
        else:
            kind = int if one.type == "int" else str
            parser.add_argument(
                *flags_of(one),
                dest=one.name,
                type=kind,
                default=one.default,
                help=meaning,
                metavar=one.name.upper(),
            )
    values = vars(parser.parse_args(words))
    return {
        key: " ".join(value) if isinstance(value, list) else value for key, value in values.items()
    }
