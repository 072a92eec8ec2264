def area(width):
    return width * 2


class Box:
    size = 1
    return size
