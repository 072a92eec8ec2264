[
  (rule_set)
  (media_statement)
  (supports_statement)
  (keyframes_statement)
  (keyframe_block)
  (at_rule)
] @compound

[
  (declaration)
  (import_statement)
] @simple
