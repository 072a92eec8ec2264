# What the grammar does not know, and GNU or BSD make do.
VARIANT ?= $(notdir $(VARIANT_DIR:/=))
obj-$(CONFIG_X) += y.o
OBJS = $(SRCS:.c=.o) $(patsubst %.c,%.o,$(^:$(DIR)/%=%))
SHELLS := sh bash # ksh (#574)
CFLAGS+= -DBUILD="\"$(VERSION) ($(DATE))\""
NOW != date
export PATH = $(EMSDK);$(EMSDK)\node\bin

all: $(TOP)/py/*.[ch]
	$(Q)$(TOOL) -s $(^:$(DIR)/%=%) $^
	@test -z "$$(git status)" # (

.if empty(CCV)
.include <bsd.prog.mk>
.endif
