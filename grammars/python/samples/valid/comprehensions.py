"""Comprehensions whose clauses begin their lines."""

names = [
    name
    for name in dir()
    if not name.startswith("_")
]
table = {
    key: value
        for key, value in zip(names, names)
            if key
}
