class Store {
    int get(int key) {
        return values[key];
    }

    int get(String key) {
        return names.get(key);
    }

    int get(int key) {
        return values[key] + 1;
    }
}
