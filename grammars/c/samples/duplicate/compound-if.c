int f(struct s *s)
{
	if (!s->ready) {
		return -1;
	}
	/* once more */
	if (!s->ready) {
		return -1;
	}
	return 0;
}
