(table) @compound
(pair) @simple
