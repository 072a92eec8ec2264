all: main.o
    cc -o main main.o
