def f(x):
    if x is None:
        return 0

    if x is None:
        return 0
    return x
