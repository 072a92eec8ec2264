const char *name(void)
{
	return "name;
}
