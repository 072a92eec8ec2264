const name = "text;
const other = 1;
