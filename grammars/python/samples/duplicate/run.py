def setup(port):
    port.open(mode="read-write")
    port.set_speed(9600)
    port.open(mode="read-write")
    port.set_speed(9600)
