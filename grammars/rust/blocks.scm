[
  (function_item)
  (struct_item)
  (enum_item)
  (union_item)
  (trait_item)
  (impl_item)
  (mod_item)
  (foreign_mod_item)
  (macro_definition)
  (macro_rule)
  (match_arm)
] @compound

(expression_statement
  [
    (if_expression)
    (match_expression)
    (for_expression)
    (while_expression)
    (loop_expression)
  ]) @compound

[
  (use_declaration)
  (extern_crate_declaration)
  (type_item)
  (associated_type)
  (const_item)
  (static_item)
  (function_signature_item)
  (field_declaration)
  (enum_variant)
  (field_initializer)
  (shorthand_field_initializer)
  (inner_attribute_item)
] @simple

((attribute_item) @simple (#not-match? @simple "[(]"))

(expression_statement
  [
    (return_expression)
    (break_expression)
    (continue_expression)
  ]) @simple

; A binding without a call.
((let_declaration) @simple (#not-match? @simple "[(]|[a-z_]!"))

; `x = y` twice is redundant; `x = x.next` may be intended.
((expression_statement
  (assignment_expression
    right: [
      (identifier)
      (integer_literal)
      (float_literal)
      (boolean_literal)
      (string_literal)
      (char_literal)
      (scoped_identifier)
    ])) @simple
  (#not-match? @simple "[(]"))
((expression_statement
  (assignment_expression
    left: (_) @_left
    right: (field_expression value: [(identifier) (self)] @_from))) @simple
  (#not-eq? @_left @_from)
  (#not-match? @simple "[(]"))
