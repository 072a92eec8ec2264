; `_` is not a name. A branch of `if`, `else`, `try` or `except` is its own scope.
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

; Decorators distinguish definitions: `@property`, `@x.setter`, `@app.route("/")`. Some register
; many functions of one name.
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
