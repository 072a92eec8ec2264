[
  (if_statement)
  (for_statement)
  (expression_switch_statement)
  (type_switch_statement)
  (select_statement)
  (function_declaration)
  (method_declaration)
  (type_declaration)
] @compound

[
  (return_statement)
  (break_statement)
  (continue_statement)
  (goto_statement)
  (fallthrough_statement)
  (import_declaration)
  (import_spec)
  (type_spec)
  (type_alias)
  (method_elem)
  (expression_case)
  (type_case)
  (communication_case)
  (default_case)
  (keyed_element)
] @simple

; `_` is a placeholder and may repeat.
((field_declaration) @simple (#not-match? @simple "^_"))
((const_spec) @simple (#not-match? @simple "^_"))
((var_spec) @simple (#not-match? @simple "^_|[(]"))
((const_declaration) @simple (#not-match? @simple "^const\\s+_"))
((var_declaration) @simple (#not-match? @simple "^var\\s+_|[(]"))

((short_var_declaration) @simple (#not-match? @simple "[(]|<-"))

; `x = y` twice is redundant; `x = x.next` may be intended.
((assignment_statement
  left: (expression_list) @_left
  operator: "="
  right: (expression_list
    .
    [
      (identifier)
      (nil)
      (true)
      (false)
      (int_literal)
      (float_literal)
      (interpreted_string_literal)
      (raw_string_literal)
      (rune_literal)
    ]
    .)) @simple
  (#not-eq? @_left "_")
  (#not-match? @simple "[(]"))
((assignment_statement
  left: (expression_list) @_left
  operator: "="
  right: (expression_list . (selector_expression operand: (identifier) @_from) .)) @simple
  (#not-eq? @_left @_from)
  (#not-eq? @_left "_")
  (#not-match? @simple "[(]"))
