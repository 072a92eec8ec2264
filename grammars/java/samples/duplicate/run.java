class Store {
    void setup(Port port) {
        port.open(Mode.READ_WRITE, true);
        port.setSpeed(9600);
        port.open(Mode.READ_WRITE, true);
        port.setSpeed(9600);
    }
}
