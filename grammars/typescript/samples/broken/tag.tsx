export const Page = () => (
  <div>
    <p>one</div>
);
