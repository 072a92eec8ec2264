def f():
    return "text


def g():
    return 1
