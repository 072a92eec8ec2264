const name: string = "text;
const other = 1;
