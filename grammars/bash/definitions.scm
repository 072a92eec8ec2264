; What stands in a branch of `if` or `case` has a scope of its own.
(function_definition name: (word) @name) @definition
