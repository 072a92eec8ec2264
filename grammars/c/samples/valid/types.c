#define CPP(x)

CPP(extern "C" {)

static void watch(__unused int fd, void *data __unused);

static void
watch(__unused int fd, void *data __unused)
{
	struct list *first = container_of(data, const struct list, entry);
	struct list *last = container_of(data, struct list, entry);

	char *name = va_arg(first->arguments, char *);
	first->size = va_arg(first->arguments, unsigned long long);
}

CPP(})
