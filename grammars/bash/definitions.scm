; A branch of `if` or `case` is its own scope.
(function_definition name: (word) @name) @definition
