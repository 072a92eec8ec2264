function f(x: number): number {
  if (x) {
    return 1;
  return 0;
}
