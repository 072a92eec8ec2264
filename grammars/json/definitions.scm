; Keys that serve as comments may repeat.
((object (pair key: (string) @name) @definition)
  (#not-any-of? @name "\"//\"" "\"#\"" "\"_comment\"" "\"comment\"" "\"$comment\""))
