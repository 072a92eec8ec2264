<!-- An old form of comment.
const Page = () => (
  <div className="page">
    Text &lt; with (a bracket
    <Item name="one" />
    <Item name="one" />
  </div>
);
