std::string name()
{
	return "name;
}
