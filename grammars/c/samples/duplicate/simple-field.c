struct point {
	int x;
	int y;
	int y;
};
