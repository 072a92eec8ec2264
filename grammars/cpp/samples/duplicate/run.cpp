void setup(Port &port)
{
	port.open(Mode::ReadWrite, true);
	port.set_speed(9600);

	port.open(Mode::ReadWrite, true);
	port.set_speed(9600);
}
