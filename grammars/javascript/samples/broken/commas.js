export const options = { first,
  , second };
