from shop import gross


def test_gross():
    assert round(gross(100), 2) == 119
