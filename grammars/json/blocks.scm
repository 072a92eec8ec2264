; Values of an array may repeat.
(object (pair) @simple)
