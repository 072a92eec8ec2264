; HTML has no definitions: elements repeat, and an `id` may occur in two templates of one file.
