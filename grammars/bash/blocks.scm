[
  (if_statement)
  (elif_clause)
  (for_statement)
  (c_style_for_statement)
  (while_statement)
  (case_statement)
  (case_item)
  (function_definition)
] @compound

(unset_command) @simple

; A value without side effects.
((variable_assignment) @simple (#not-match? @simple "[+]=|[$`]"))
((declaration_command) @simple (#not-match? @simple "[+]=|[$`]"))

; Commands that exit, and idempotent commands.
((command name: (command_name (word) @_name)) @simple
  (#any-of? @_name "return" "exit" "break" "continue" "set" "shopt" "source" "."))
