CC := cc
CC := cc
