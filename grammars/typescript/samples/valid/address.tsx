export const Link = () => (
  <Item.Link href="https://a.example/b?source=c&medium=d&content=e" icon={icon}>
    text
  </Item.Link>
);
