// The same queries serve TSX.
type Props = { name: string };

export const Page = ({ name }: Props) => (
  <div className="page">
    Text &lt; with (a bracket
    <Item name="one" />
    <Item name="one" />
  </div>
);
