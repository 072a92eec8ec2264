; `[package.x]` after `[[package]]` belongs to that element and may repeat for the next element.
((table_array_element)
  .
  [(table) (comment)]*
  .
  (table (dotted_key)) @exempt)

(table . [(bare_key) (quoted_key) (dotted_key)] @name) @definition

; The scope of a key is its table.
(pair . [(bare_key) (quoted_key) (dotted_key)] @name) @definition
