function f(x: number): number {
  if (x > 3) {
    return 3;
  }
  if (x > 3) {
    return 3;
  }
  return x;
}
