class Store {
	int get() {
		if (count) {
			return 1;
		return 0;
	}
};
