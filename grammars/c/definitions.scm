; Functions with a body. A name in capitals is a macro. Prototypes may repeat.
((function_definition
  declarator: [
    (function_declarator declarator: (identifier) @name)
    (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))
    (pointer_declarator
      declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))
  ]) @definition
  (#not-match? @name "^[A-Z0-9_]+$"))

; Tags share one namespace.
[
  (struct_specifier name: (type_identifier) @name body: (_))
  (union_specifier name: (type_identifier) @name body: (_))
] @definition

; A name in capitals may be a macro that names the type behind the enumerators.
((enum_specifier name: (type_identifier) @name body: (_)) @definition
  (#not-match? @name "^[A-Z0-9_]+$"))

; A typedef without a body may repeat.
(type_definition
  type: [(struct_specifier body: (_)) (union_specifier body: (_)) (enum_specifier body: (_))]
  declarator: (type_identifier) @name) @definition
