; `_` is no name. What stands under `if`, `else`, `try` or `except` has a scope of its own.
((module
  [
    (function_definition name: (identifier) @name)
    (class_definition name: (identifier) @name)
  ] @definition)
  (#not-eq? @name "_"))
((block
  [
    (function_definition name: (identifier) @name)
    (class_definition name: (identifier) @name)
  ] @definition)
  (#not-eq? @name "_"))

; Decorators set definitions apart: `@property`, `@x.setter`, `@app.route("/")`. Some collect many of one name.
((decorated_definition
  .
  [(decorator) @distinct (comment)]+
  .
  definition: [
    (function_definition name: (identifier) @name)
    (class_definition name: (identifier) @name)
  ]) @definition
  (#not-eq? @name "_")
  (#not-match? @distinct "overload|register|multimethod|dispatch"))
