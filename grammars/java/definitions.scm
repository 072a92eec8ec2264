[
  (class_declaration name: (identifier) @name)
  (interface_declaration name: (identifier) @name)
  (enum_declaration name: (identifier) @name)
  (record_declaration name: (identifier) @name)
  (annotation_type_declaration name: (identifier) @name)
] @definition

; Overloads differ in their parameters.
[
  (method_declaration name: (identifier) @name parameters: (_) @distinct)
  (constructor_declaration name: (identifier) @name parameters: (_) @distinct)
] @definition

(compact_constructor_declaration name: (identifier) @name) @definition

[
  (field_declaration declarator: (variable_declarator name: (identifier) @name))
  (constant_declaration declarator: (variable_declarator name: (identifier) @name))
  (annotation_type_element_declaration name: (identifier) @name)
  (enum_constant name: (identifier) @name)
] @definition

(local_variable_declaration declarator: (variable_declarator name: (identifier) @name)) @definition
