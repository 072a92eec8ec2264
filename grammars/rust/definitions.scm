; A definition under `cfg` may repeat under another `cfg`, but not under `cfg(test)`.
((attribute_item) @_cfg
  .
  [(attribute_item) (line_comment) (block_comment)]*
  .
  (_) @exempt
  (#match? @_cfg "^#\\[\\s*cfg")
  (#not-match? @_cfg "^#\\[cfg\\(test\\)\\]"))

; Values.
([
  (function_item name: (identifier) @name)
  (function_signature_item name: (identifier) @name)
  (const_item name: (identifier) @name)
  (static_item name: (identifier) @name)
] @definition
  (#not-eq? @name "_"))

; Types and modules.
[
  (struct_item name: (type_identifier) @name)
  (enum_item name: (type_identifier) @name)
  (union_item name: (type_identifier) @name)
  (trait_item name: (type_identifier) @name)
  (type_item name: (type_identifier) @name)
  (associated_type name: (type_identifier) @name)
  (mod_item name: (identifier) @name)
] @definition

; Macros.
(macro_definition name: (identifier) @name) @definition

; Members.
[
  (field_declaration name: (field_identifier) @name)
  (enum_variant name: (identifier) @name)
] @definition
