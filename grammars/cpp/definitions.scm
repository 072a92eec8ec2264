; Declarations under `template` are captured by the patterns below.
(template_declaration [(function_definition) (class_specifier) (struct_specifier) (union_specifier)] @exempt)

; Overloads differ in their declarator, and in their type if a template depends on it. A name in
; capitals is a macro.
((function_definition
  type: (_)? @distinct
  declarator: [
    (function_declarator declarator: (_) @name)
    (pointer_declarator declarator: (function_declarator declarator: (_) @name))
    (reference_declarator (function_declarator declarator: (_) @name))
  ] @distinct) @definition
  (#not-match? @name "^[A-Z0-9_]+$"))

(template_declaration
  parameters: (_) @distinct
  (requires_clause)? @distinct
  (function_definition
    type: (_)? @distinct
    declarator: [
      (function_declarator declarator: (_) @name)
      (pointer_declarator declarator: (function_declarator declarator: (_) @name))
      (reference_declarator (function_declarator declarator: (_) @name))
    ] @distinct)) @definition

[
  (class_specifier name: (_) @name body: (_))
  (struct_specifier name: (_) @name body: (_))
  (union_specifier name: (_) @name body: (_))
] @definition

; A name in capitals may be a macro that names the type behind the enumerators.
((enum_specifier name: (_) @name body: (_)) @definition
  (#not-match? @name "^[A-Z0-9_]+$"))

; A specialisation has its arguments in its name.
(template_declaration
  parameters: (_) @distinct
  (requires_clause)? @distinct
  [
    (class_specifier name: (_) @name body: (_))
    (struct_specifier name: (_) @name body: (_))
    (union_specifier name: (_) @name body: (_))
  ]) @definition

(type_definition
  type: [(struct_specifier body: (_)) (union_specifier body: (_)) (enum_specifier body: (_))]
  declarator: (type_identifier) @name) @definition
