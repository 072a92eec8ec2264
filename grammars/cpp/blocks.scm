; `if (x > N) x -= N;` and `if (i < N) { a[i++] = 0; }` twice have another effect than once.
((if_statement) @compound
  (#not-match? @compound "^if[^{};]*([-+*/%^|&]|<<|>>)=[^{};]*;$")
  (#not-match? @compound "^if[^{};]*[{]?[^{};]*([+][+]|--)[^{};]*;[ \t\r\n]*[}]?$"))

[
  (for_statement)
  (while_statement)
  (do_statement)
  (switch_statement)
  (for_range_loop)
  (try_statement)
  (catch_clause)
  (function_definition)
  (class_specifier body: (_))
  (struct_specifier body: (_))
  (union_specifier body: (_))
  (enum_specifier body: (_))
  (template_declaration)
  (namespace_definition)
  (preproc_if)
  (preproc_ifdef)
] @compound

[
  (return_statement)
  (throw_statement)
  (using_declaration)
  (alias_declaration)
  (namespace_alias_definition)
  (friend_declaration)
  (access_specifier)
  (field_initializer)
  (break_statement)
  (continue_statement)
  (goto_statement)
  (type_definition)
  (case_statement)
  (enumerator)
  (initializer_pair)
  (preproc_def)
  (preproc_function_def)
] @simple

; A bit field without a name is padding; the grammar reports its name as missing.
((field_declaration declarator: (_) @_name) @simple (#not-eq? @_name ""))

; A declaration, not a macro call.
((declaration) @simple (#not-match? @simple "[(]"))
(declaration declarator: (function_declarator)) @simple

; `x = y` twice is redundant; `x = x->next`, `*p++ = 0` and `x = f()` may be intended.
((expression_statement
  (assignment_expression
    operator: "="
    right: [(identifier) (number_literal) (string_literal) (char_literal) (true) (false) (null) (this)])) @simple
  (#not-match? @simple "[(]|[+][+]|--"))
((expression_statement
  (assignment_expression
    left: (_) @_left
    operator: "="
    right: (field_expression argument: (identifier) @_from))) @simple
  (#not-eq? @_left @_from)
  (#not-match? @simple "[(]|[+][+]|--"))

; A file that is not a header may be included again on purpose.
((preproc_include path: [(system_lib_string) (string_literal)] @_path) @simple
  (#match? @_path "[.]hp?p?[\">]$"))
