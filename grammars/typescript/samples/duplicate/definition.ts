class Store {
  get(key: string): number;
  get(key: number): number;
  get(key: any): number {
    return this.values[key];
  }

  get(key: any, fallback = 0): number {
    return this.values[key] ?? fallback;
  }
}
