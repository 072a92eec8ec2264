; Items of a sequence may repeat.
(block_mapping_pair) @simple
(flow_mapping (flow_pair) @simple)
