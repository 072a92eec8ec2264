[
  (if_statement)
  (for_statement)
  (for_in_statement)
  (while_statement)
  (do_statement)
  (switch_statement)
  (switch_case)
  (try_statement)
  (function_declaration)
  (generator_function_declaration)
  (class_declaration)
  (abstract_class_declaration)
  (interface_declaration)
  (enum_declaration)
  (internal_module)
  (ambient_declaration)
  (method_definition)
] @compound

(export_statement declaration: (_)) @compound

; A test or a group of tests.
((expression_statement
  (call_expression
    function: (identifier) @_test
    arguments: (arguments . (string) [(arrow_function) (function_expression)]))) @compound
  (#any-of? @_test "describe" "context" "suite" "it" "test"))

[
  (return_statement)
  (throw_statement)
  (break_statement)
  (continue_statement)
  (import_statement)
  (import_specifier)
  (export_specifier)
  (lexical_declaration)
  (public_field_definition)
  (property_signature)
  (method_signature)
  (abstract_method_signature)
  (function_signature)
  (type_alias_declaration)
  (enum_assignment)
  (decorator)
] @simple

(export_statement source: (_)) @simple
(enum_body (property_identifier) @simple)
(object [(pair) (shorthand_property_identifier)] @simple)

((variable_declaration) @simple (#not-match? @simple "[(]|[+][+]|--"))

; "use strict"
(expression_statement . (string) .) @simple

; `x = y` twice is redundant; `x = x.next` may be intended.
((expression_statement
  (assignment_expression
    right: [
      (identifier)
      (number)
      (string)
      (true)
      (false)
      (null)
      (undefined)
      (this)
      (arrow_function)
      (function_expression)
    ])) @simple
  (#not-match? @simple "^[^=]*([(]|[+][+]|--)"))
((expression_statement
  (assignment_expression
    left: (_) @_left
    right: (member_expression object: [(identifier) (this)] @_from))) @simple
  (#not-eq? @_left @_from)
  (#not-match? @simple "[(]|[+][+]|--"))
