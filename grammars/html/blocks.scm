[
  (script_element)
  (style_element)
] @compound

; Elements that a page has once, or that are redundant twice in a row.
((element . [(start_tag (tag_name) @_tag) (self_closing_tag (tag_name) @_tag)]) @compound
  (#any-of? @_tag "html" "head" "title" "body" "main" "meta" "link"))

[
  (attribute)
  (doctype)
] @simple
