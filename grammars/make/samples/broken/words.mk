CC = cc
Here is the updated file
all:
	$(CC) main.c
