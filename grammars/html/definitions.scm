; HTML defines nothing by name: elements repeat, and an `id` may stand in two templates of one file.
