// Every construct that the queries of C++ name.
#include <vector>
#include "store.hpp"
#include "names.inc"
#include "names.inc"

#define MAX 16
#define TWICE(x) ((x) * 2)

using std::vector;
using Number = int;
namespace fs = std::filesystem;

enum class Colour { Red, Green = 2, Blue };

union Value {
	int number;
	char *text;
};

typedef enum { STORE_EMPTY, STORE_FULL } store_state;

struct Point {
	int x;
	int y : 4;
};

static int counter;
int list_push(struct List *list, int value);
int list_free(struct List *list);
static const Point origin = { .x = 0, .y = 0 };
static const char *raw = R"(raw "text" ()";

#if defined(_WIN32)
static int page_size() { return 4096; }
#elif defined(__APPLE__)
static int page_size() { return 16384; }
#else
static int page_size() { return getpagesize(); }
#endif

#ifdef HAVE_COPY
struct Copy { int a; };
#elifdef HAVE_OTHER
struct Copy { int b; };
#else
struct Copy { int c; };
#endif

TEST(Store, Opens) { open(1); }
TEST(Store, Closes) { close(1); }

template <typename T> class List {
public:
	T head;
};

template <> class List<int> {
public:
	int head;
};

template <typename T> requires Small<T> T grow(T x) { return x; }
template <typename T> requires Large<T> T grow(T x) { return x + 1; }
template <typename T> enable_if_t<is_a<T>, int> pick(T x) { return 1; }
template <typename T> enable_if_t<is_b<T>, int> pick(T x) { return 2; }
template <typename T> T *pointer(T *x) { return x; }
template <typename T> T &reference(T &x) { return x; }
template <typename T> struct Pair { T a; };
template <typename T> union Either { T a; int b; };

namespace one {
int area(int x) { return x; }
double area(double x) { return x; }
}

namespace two {
int area(int x) { return x; }
}

class Store {
	friend class Other;

public:
	Store() : count(0), next(nullptr) {}
	Store(int count) : count(count) {}
	~Store() {}
	int get() { return count; }
	int get() const { return count; }
	int &at(int i) { return values[i]; }
	char *name() { return 0; }
	bool operator==(const Store &other) const { return true; }

private:
	int count;
	Store *next;
	vector<int> values;
};

int Store::walk(Store *store, char *out)
{
	int local = 1;
	if (!store)
		goto fail;
	store->count = 1;
	store->text = "a";
	store->mark = 'a';
	store->open = true;
	store->shut = false;
	store->next = NULL;
	store->self = this;
	store->last = local;
	store->next = store->last;
	store = store->next;
	store = store->next;
	counter++;
	counter++;
	put('.');
	put('.');
	for (int i = 0; i < MAX; i++) {
		if (i == 3)
			continue;
		break;
	}
	for (int each : values) {
		put(each);
	}
	while (counter)
		counter--;
	do {
		*out++ = 0;
		*out++ = 0;
	} while (out[0]);
	switch (counter) {
	case 0: {
		int inner = 1;
		return inner;
	}
	default:
		break;
	}
	try {
		open();
	} catch (const Error &error) {
		throw error;
	} catch (...) {
		throw;
	}
	return 0;
fail:
	return -1;
}
