class Store<in out T> {
  accessor items: T[] = [];
}

type Loaded = import("./store").Store<string>;

async function read() {
  using file = open("a");
  await using other = open("b");
  for (using each of files) {
    each.read();
  }
}
