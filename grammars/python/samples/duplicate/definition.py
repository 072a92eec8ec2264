class Store:
    def get(self, key):
        return self.values[key]

    def set(self, key, value):
        self.values[key] = value

    def get(self, key, default=None):
        return self.values.get(key, default)
