#ifndef LIST_H
#define LIST_H

#include <stddef.h>
#include "config.h"

#ifdef __cplusplus
extern "C" {
	int list_version(void);
	int list_debug;
}
#endif

typedef struct list {
	struct node *head;
	union {
		size_t length;
		unsigned padding;
	} as;
	unsigned flags : 4;
} list;

/* A prototype may repeat. */
int list_push(struct list *list, int value);
void list_free(struct list *list);
int list_push(struct list *list, int value);

#define LIST_EACH(list, it) for (struct node *it = (list)->head; it; it = it->next)

#endif
