function Page() {
  return <p>one</p>;
}

const other = 1;

function Page() {
  return <p>two</p>;
}
