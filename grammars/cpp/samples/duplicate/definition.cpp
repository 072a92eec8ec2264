class Store {
public:
	int get() { return count; }
	int get() const { return count; }
	void set(int value) { count = value; }
	int get() const { return count + 1; }
};
