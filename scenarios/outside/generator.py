#!/usr/bin/env python3
"""A generator outside: one request on standard input, one answer on standard output. See docs/generators.md.

The bug is always the same, a wrong operator in the last line of a function; seeds vary names and numbers, levels what the
statement says. What matters is that the answer follows from the request alone: no clock, and no randomness but the seed's.
"""

import json
import random
import sys

LEVELS = range(4)
FUNCTION = '''def {name}(value):
    """Adds the digits of value at most {limit}, times {factor}."""
    acc = 0
    for c in str(abs(value)):
        x = int(c)
        if x <= {limit}:
            acc += x
    return acc {operator} {factor}
'''


def task(seed, level):
    draw = random.Random(seed)
    name = draw.choice(["score", "rate", "weigh", "count"]) + "_" + draw.choice(["coins", "nails", "cows", "eggs"])
    module, limit, factor = draw.choice(["hotel", "court", "hall", "fort"]), draw.randint(4, 8), draw.randint(3, 9)

    def digits(value):
        return sum(int(digit) for digit in str(value) if int(digit) <= limit)

    def source(operator):
        return FUNCTION.format(name=name, limit=limit, factor=factor, operator=operator)

    def tests(values):
        test = "\ndef test_{0}_{1}():\n    assert {0}({2}) == {3}\n"
        cases = [test.format(name, n, value, digits(value) * factor) for n, value in enumerate(values, 1)]
        return f"from {module} import {name}\n" + "".join(cases)

    is_wrong = f"gives {digits(42) + factor}, but should give {digits(42) * factor}"
    statement = [
        f"In {module}.py, {name}(42) {is_wrong}. `return acc + {factor}` has the wrong operator.",
        f"In {module}.py, {name}(42) {is_wrong}.",
        f"There is a bug in {name}. It gives a wrong number.",
        f"Something in {module}.py gives a wrong number.",
    ][level]
    return {
        "statement": statement,
        "files": {f"{module}.py": source("+"), f"test_{module}.py": tests([42])},
        "gold": {f"{module}.py": source("*")},
        "tests": {f"test_{module}.py": tests([42, 4235, 66])},
        "seed": seed,
        "level": level,
        "stratum": "digits",
        "operators": ["arithmetic_swap"],
        "templates": ["digit_sum"],
        "functions": 1,
        "modules": 1,
    }


def answer(request):
    if request["request"] == "generate":
        number = (request["seed"] * 1_000 + request["iteration"]) * 100_000 + request["index"]
        return task(number, level=random.Random(number).choice(LEVELS))
    level = request["level"] + (1 if request["direction"] == "harder" else -1)
    return task(request["seed"], level) if level in LEVELS else None


json.dump(answer(json.load(sys.stdin)), sys.stdout)
