export function Page({ items }: Props) {
  for (const item of items) show(item);
  for (const item of items) show(item);
  return <p>one</p>;
}
