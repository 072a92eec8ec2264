def f(x):
    return [x, (1, 2]


def g():
    return 1
