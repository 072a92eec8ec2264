template <typename T> T half(T x) { return x / 2; }

int other() { return 1; }

template <typename T> T half(T x) { return x >> 1; }
