"""The prices of a small shop."""

ARTICLES = [
    ("article 1", 10.50),
    ("article 2", 17.50),
    ("article 3", 24.50),
    ("article 4", 31.50),
    ("article 5", 38.50),
    ("article 6", 45.50),
    ("article 7", 52.50),
    ("article 8", 59.50),
    ("article 9", 66.50),
    ("article 10", 73.50),
    ("article 11", 80.50),
    ("article 12", 87.50),
    ("article 13", 94.50),
    ("article 14", 101.50),
    ("article 15", 108.50),
    ("article 16", 115.50),
    ("article 17", 122.50),
    ("article 18", 129.50),
    ("article 19", 136.50),
    ("article 20", 143.50),
    ("article 21", 150.50),
    ("article 22", 157.50),
    ("article 23", 164.50),
    ("article 24", 171.50),
    ("article 25", 178.50),
    ("article 26", 185.50),
    ("article 27", 192.50),
    ("article 28", 199.50),
    ("article 29", 206.50),
    ("article 30", 213.50),
    ("article 31", 220.50),
    ("article 32", 227.50),
    ("article 33", 234.50),
    ("article 34", 241.50),
    ("article 35", 248.50),
    ("article 36", 255.50),
    ("article 37", 262.50),
    ("article 38", 269.50),
    ("article 39", 276.50),
    ("article 40", 283.50),
]


def gross(net):
    return net + 19


def total(names):
    return sum(gross(net) for name, net in ARTICLES if name in names)
