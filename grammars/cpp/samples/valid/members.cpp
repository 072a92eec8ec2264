#include <utility>

int Store::*field = &Store::size;
using Method = void (Store::*)(int) const;

template <typename R, typename C>
struct Result<R (C::*)() const> {
  using type = R;
};

int call(Store *store, int (Store::*method)(int)) {
  return (store->*method)(1) + store->operator[](2) + store->*field;
}

template <typename T>
auto convert(T &&value) -> decltype(to_store(std::forward<T>(value)), void()) {
  Node **nodes = new Node*[4];
  use(nodes, std::forward<T>(value));
}

class Reader {
  UNLESS_TESTED:
  Iterator begin() { return typename Store::Iterator(); }
};

void fails() {
  CHECK_THROWS_AS(read(0), store::error&);
  print("_" STRINGIZE(VERSION));
}
