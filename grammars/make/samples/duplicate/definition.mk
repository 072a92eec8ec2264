all: one
	echo one

two:
	echo two

all: three
	echo three
