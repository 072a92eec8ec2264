[
  (function_declaration name: (identifier) @name)
  (generator_function_declaration name: (identifier) @name)
  (class_declaration name: (identifier) @name)
] @definition

; `var` may repeat, `let` and `const` may not.
(lexical_declaration (variable_declarator name: (identifier) @name) @definition)

; A getter, a setter and a static member may share a name.
(class_body (method_definition ["static" "get" "set"]* @distinct name: (_) @name) @definition)
(class_body (field_definition "static"? @distinct property: (_) @name) @definition)

(object (method_definition ["get" "set"]? @distinct name: (_) @name) @definition)
((object (pair key: (_) @name) @definition)
  (#not-match? @name "^\\["))

; A name that is imported under its own name.
(named_imports (import_specifier !alias name: (identifier) @name) @definition)
