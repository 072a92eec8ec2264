[
  (if_statement)
  (for_statement)
  (enhanced_for_statement)
  (while_statement)
  (do_statement)
  (switch_expression)
  (switch_block_statement_group)
  (switch_rule)
  (synchronized_statement)
  (try_statement)
  (try_with_resources_statement)
  (catch_clause)
  (class_declaration)
  (interface_declaration)
  (enum_declaration)
  (record_declaration)
  (annotation_type_declaration)
  (method_declaration)
  (constructor_declaration)
  (compact_constructor_declaration)
] @compound

[
  (package_declaration)
  (import_declaration)
  (return_statement)
  (throw_statement)
  (break_statement)
  (continue_statement)
  (yield_statement)
  (local_variable_declaration)
  (field_declaration)
  (constant_declaration)
  (annotation_type_element_declaration)
  (enum_constant)
  (element_value_pair)
] @simple

((marker_annotation) @simple)

; `x = y` twice is redundant; `x = x.next` may be intended.
((expression_statement
  (assignment_expression
    operator: "="
    right: [
      (identifier)
      (decimal_integer_literal)
      (string_literal)
      (character_literal)
      (true)
      (false)
      (null_literal)
    ])) @simple
  (#not-match? @simple "[(]|[+][+]|--"))
((expression_statement
  (assignment_expression
    left: (_) @_left
    operator: "="
    right: (field_access object: [(identifier) (this)] @_from))) @simple
  (#not-eq? @_left @_from)
  (#not-match? @simple "[(]|[+][+]|--"))
