; `<<` merges another mapping and may repeat.
((block_mapping_pair key: (flow_node) @name) @definition
  (#not-eq? @name "<<"))

; Not in a sequence: each pair of `[a: 1, a: 2]` is a separate mapping.
((flow_mapping (flow_pair key: (flow_node) @name) @definition)
  (#not-eq? @name "<<"))
