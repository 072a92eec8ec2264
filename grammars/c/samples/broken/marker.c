int f(void)
{
<<<<<<< HEAD
	return 1;
=======
	return 2;
>>>>>>> topic
}
