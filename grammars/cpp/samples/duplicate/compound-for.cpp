void f(const std::vector<int> &values)
{
	for (int value : values) {
		put(value);
	}
	for (int value : values) {
		put(value);
	}
}
