const total = add(first,, second);
