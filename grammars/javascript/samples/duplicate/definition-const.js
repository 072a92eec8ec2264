const limit = 10;
const other = limit;
const limit = 20;
