void setup(struct port *port)
{
	open_port(port, PORT_READ | PORT_WRITE);
	set_speed(port, 9600);

	open_port(port, PORT_READ | PORT_WRITE);
	set_speed(port, 9600);
}
