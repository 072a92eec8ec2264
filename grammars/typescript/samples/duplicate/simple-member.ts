interface Shape {
  area(): number;
  name(): string;
  name(): string;
}
