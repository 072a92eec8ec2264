"""Shapes: every construct that the queries of Python name."""
from __future__ import annotations

import functools
from typing import overload

type Pair = tuple[int, int]

unit: int
chosen = {1, 2}
closed = False
opened = True
empty = None
places = (1, 2)
other = places
scale = 1.5
names = ["one", "two"]
options = {"round": True, "label": f"{scale} units"}

try:
    import fast
except ImportError:
    def area(x):
        return x * x
else:
    def area(x):
        return fast.area(x)

if scale > 1:
    def grow(x):
        return x
elif scale < 0:
    def grow(x):
        return -x
else:
    grow = None


class Shape:
    """A shape."""

    kind = Pair
    sides: int

    @property
    def size(self):
        return self._size

    @size.setter
    def size(self, value):
        self._size = value

    @overload
    def scaled(self, by: int) -> int: ...

    @overload
    def scaled(self, by: str) -> str: ...

    # The one that runs.
    def scaled(self, by):
        return by

    def __init__(self, parent, *, label=None):
        self.parent = parent
        self.label = parent.label
        parent = parent.parent
        parent = parent.parent
        self.count = 0
        self.count += 1
        self.count += 1
        self.values = next(label)
        self.values = next(label)


class Square(Shape):
    pass


@functools.singledispatch
def describe(x):
    raise TypeError(x)


@describe.register(int)
def _(x):
    return "int"


@describe.register(str)
def _(x):
    return "str"


@app.route("/")
# Two routes may have one handler's name.
@cached(timeout=5, key="a")
def index():
    global unit
    unit = 1

    def inner():
        nonlocal_name = 2

        def innermost():
            nonlocal nonlocal_name
            nonlocal_name = 3

        return innermost

    return inner


@app.route("/again")
@cached(timeout=5, key="a")
def index():
    if names == "one\n":
        return unit
    if names == "two\n":
        return unit
    for name in names:
        if name == "one":
            continue
        break
    while True:
        print(".")
        print(".")
        return None
    with open("x") as file, open("y"):
        return file
    match scale:
        case 1:
            return 1
        case _:
            return 2
