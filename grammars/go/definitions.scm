((function_declaration name: (identifier) @name) @definition
  (#not-any-of? @name "init" "_"))

; A method belongs to the type of its receiver; `T` and `*T` are the same type.
((method_declaration
  receiver: (parameter_list
    (parameter_declaration
      type: [
        (type_identifier) @distinct
        (pointer_type (type_identifier) @distinct)
        (generic_type type: (type_identifier) @distinct)
        (pointer_type (generic_type type: (type_identifier) @distinct))
      ]))
  name: (field_identifier) @name) @definition
  (#not-eq? @name "_"))

([
  (type_spec name: (type_identifier) @name)
  (type_alias name: (type_identifier) @name)
] @definition
  (#not-eq? @name "_"))

([
  (const_spec name: (identifier) @name)
  (var_spec name: (identifier) @name)
] @definition
  (#not-eq? @name "_"))

; Members of structs and interfaces.
([
  (field_declaration name: (field_identifier) @name)
  (method_elem name: (field_identifier) @name)
] @definition
  (#not-eq? @name "_"))
