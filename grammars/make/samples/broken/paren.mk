FILES := $(wildcard *.c
all: $(FILES)
	cc $(FILES)
