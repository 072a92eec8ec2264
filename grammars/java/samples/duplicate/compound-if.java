class Store {
    int get(int key) {
        if (key < 0) {
            return 0;
        }
        if (key < 0) {
            return 0;
        }
        return 1;
    }
}
