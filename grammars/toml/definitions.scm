; `[package.x]` after `[[package]]` belongs to that element and comes again with the next.
((table_array_element)
  .
  [(table) (comment)]*
  .
  (table (dotted_key)) @exempt)

(table . [(bare_key) (quoted_key) (dotted_key)] @name) @definition

; A key's scope is its table.
(pair . [(bare_key) (quoted_key) (dotted_key)] @name) @definition
