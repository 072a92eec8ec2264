function setup(port) {
  port.open({ mode: "read-write" });
  port.setSpeed(9600, "baud");
  port.open({ mode: "read-write" });
  port.setSpeed(9600, "baud");
}
