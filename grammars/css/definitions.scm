; Rules repeat lawfully; an animation is defined once for each prefix.
(keyframes_statement "@keyframes" (keyframes_name) @name) @definition
(keyframes_statement (at_keyword) @distinct (keyframes_name) @name) @definition
