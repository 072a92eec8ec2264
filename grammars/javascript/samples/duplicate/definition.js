class Store {
  get(key) {
    return this.values[key];
  }

  set(key, value) {
    this.values[key] = value;
  }

  get(key, fallback) {
    return this.values[key] ?? fallback;
  }
}
