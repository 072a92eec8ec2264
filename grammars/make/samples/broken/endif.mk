ifdef A
all: one
	echo one

two:
	echo two
