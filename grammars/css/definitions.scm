; Rules may repeat; an animation is defined once per prefix.
(keyframes_statement "@keyframes" (keyframes_name) @name) @definition
(keyframes_statement (at_keyword) @distinct (keyframes_name) @name) @definition
