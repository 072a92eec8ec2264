; One recipe for a target: not for `::`, nor for a pattern, which differs by what it is made of, nor for `.PHONY`.
((rule (targets (word) @name) ":" (recipe)) @definition
  (#not-match? @name "%|^[.][A-Z]"))
