; One recipe for a target: not for `::`, nor for a pattern, which differs by what it is made of.
((rule (targets (word) @name) ":" (recipe)) @definition
  (#not-match? @name "%"))
