/* A list of numbers: every construct that the queries of C name. */
#include <stdio.h>
#include <stdlib.h>
#include "list.h"
#include "names.def"
#include "names.def"

#define MAX 16
#define TWICE(x) ((x) * 2)

enum colour { RED, GREEN = 2, BLUE };

union value {
	int number;
	char *text;
};

struct node {
	struct node *next;
	int value;
};

typedef enum { LIST_EMPTY, LIST_FULL } list_state;
typedef unsigned int word;
typedef unsigned int word_again;

struct node;
struct node;

static const struct list empty = { .head = 0, .flags = 1 };
static int table[] = { 0, 0, 0, 0, 1, 1 };
static int counter;

#if defined(_WIN32)
static int page_size(void) { return 4096; }
#elif defined(__APPLE__)
static int page_size(void) { return 16384; }
#else
static int page_size(void) { return getpagesize(); }
#endif

#ifdef HAVE_STRDUP
static char *copy(const char *text) { return strdup(text); }
#elifdef HAVE_COPY
static char *copy(const char *text) { return other(text); }
#else
static char *copy(const char *text)
{
	char quote = '"';
	return text[0] == quote ? 0 : keep(text);
}
#endif

TEST(first) { check(1); }
TEST(first) { check(2); }

char **names(void) { return 0; }

int list_push(struct list *list, int value)
{
	struct node *node = malloc(sizeof *node);
	struct node *other = 0;
	if (!node)
		goto fail;
	node->value = value;
	node->next = list->head;
	list->head = node;
	node = node->next;
	node = node->next;
	counter++;
	counter++;
	putchar('.');
	putchar('.');
	list->flags <<= 1;
	list->flags <<= 1;
	return 0;
fail:
	return -1;
}

int list_state_of(struct list *list, char *out)
{
	for (int i = 0; i < MAX; i++) {
		if (i == 3)
			continue;
		if (i == 4)
			break;
	}
	do {
		*out++ = 0;
		*out++ = 0;
	} while (out[0]);
	while (counter)
		counter--;
	switch (list->flags) {
	case 0: {
		int inner = 1;
		return inner;
	}
	case 1:
		return page_size();
	default:
		break;
	}
#if MAX > 8
	counter = 1;
	list->open = true;
	list->shut = false;
	list->head = NULL;
	list->mark = 'x';
	list->name = "list";
	list->word = counter;
#endif
	return LIST_EMPTY;
}
