# Defaults of type parameters, of Python 3.13.
type Pair[T: int = str] = tuple[T, T]


class Box[T = dict[str, int], *Ts = *tuple[int, ...], **P = []]:
    pass
