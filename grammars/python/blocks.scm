[
  (if_statement)
  (elif_clause)
  (for_statement)
  (while_statement)
  (with_statement)
  (match_statement)
  (case_clause)
  (try_statement)
  (except_clause)
  (function_definition)
  (class_definition)
  (decorated_definition)
] @compound

[
  (return_statement)
  (raise_statement)
  (break_statement)
  (continue_statement)
  (pass_statement)
  (import_statement)
  (import_from_statement)
  (future_import_statement)
  (global_statement)
  (nonlocal_statement)
  (type_alias_statement)
  (keyword_argument)
] @simple

; A string as a statement is a comment.
(expression_statement . (string) .) @simple

; `x = 1` or `x: int` twice is redundant; `x = next(y)` and `x = x.next` may be intended.
((expression_statement
  (assignment
    right: [
      (identifier)
      (string)
      (integer)
      (float)
      (true)
      (false)
      (none)
      (list)
      (dictionary)
      (set)
      (tuple)
    ])) @simple
  (#not-match? @simple "[a-zA-Z0-9_\\])][(]"))
((expression_statement
  (assignment
    left: (_) @_left
    right: (attribute object: (identifier) @_from))) @simple
  (#not-eq? @_left @_from)
  (#not-match? @simple "[(]"))
(expression_statement (assignment !right)) @simple

((dictionary (pair) @simple)
  (#not-match? @simple "[(]"))
