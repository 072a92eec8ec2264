export const Page = () => {
  return <p>{name</p>;
};
