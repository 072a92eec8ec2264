[
  (rule (recipe))
  (conditional)
] @compound

(include_directive) @simple
((variable_assignment) @simple (#not-match? @simple "[+]="))
