; One recipe per target. Exempt: `::`, pattern rules (they differ by prerequisites), and `.PHONY`.
((rule (targets (word) @name) ":" (recipe)) @definition
  (#not-match? @name "%|^[.][A-Z]"))
