/* The least that recording one edit can cost: a static C process that writes as many files as Git needs for it.
 *
 *   floor nop                    start and leave
 *   floor edit DIR none|journal  seven loose objects (a blob, five trees, a commit), a ref and the edited file, each written
 *                                beside its place and renamed; with `journal`, all bytes go first to a preallocated file that
 *                                is flushed once (fdatasync)
 *   floor peak PROGRAM ARG...    run it and print the peak of its resident memory in KiB; small itself, so that the
 *                                figure is the program's and not what it inherited from its parent
 *
 * Build: cc -O2 -static floor.c -o floor -lz
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { OBJECTS = 7, OBJECT_BYTES = 400, FILE_BYTES = 1024, JOURNAL_BYTES = 16 << 20 };

static unsigned long long seed;

static unsigned next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 16);
}

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

static void hex(char *out, int digits)
{
	for (int i = 0; i < digits; i++)
		out[i] = "0123456789abcdef"[next() & 15];
	out[digits] = 0;
}

static void put(const char *folder, const char *name, const void *bytes, size_t size)
{
	char beside[600], place[600];
	snprintf(beside, sizeof beside, "%s/tmp_%x_%x", folder, next(), getpid());
	snprintf(place, sizeof place, "%s/%s", folder, name);
	int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL, 0644);
	must(fd >= 0, beside);
	must(write(fd, bytes, size) == (ssize_t)size, beside);
	close(fd);
	must(rename(beside, place) == 0, place);
}

static void prepare(const char *dir)
{
	char path[600];
	mkdir(dir, 0755);
	snprintf(path, sizeof path, "%s/objects", dir);
	if (mkdir(path, 0755) != 0)
		return;
	for (int i = 0; i < 256; i++) {
		snprintf(path, sizeof path, "%s/objects/%02x", dir, i);
		must(mkdir(path, 0755) == 0, path);
	}
	snprintf(path, sizeof path, "%s/refs", dir);
	must(mkdir(path, 0755) == 0, path);
	snprintf(path, sizeof path, "%s/work", dir);
	must(mkdir(path, 0755) == 0, path);
	snprintf(path, sizeof path, "%s/journal", dir);
	int fd = open(path, O_WRONLY | O_CREAT, 0644);
	char *zeros = calloc(1, JOURNAL_BYTES);
	must(fd >= 0 && zeros && write(fd, zeros, JOURNAL_BYTES) == JOURNAL_BYTES && fsync(fd) == 0, path);
	close(fd);
}

static void edit(const char *dir, int durable)
{
	static unsigned char packed[OBJECTS][1024];
	static char text[FILE_BYTES];
	uLongf size[OBJECTS];
	char folder[600], name[64];
	for (int i = 0; i < FILE_BYTES; i++)
		text[i] = i % 40 == 39 ? '\n' : 'a' + next() % 6;
	for (int i = 0; i < OBJECTS; i++) {
		size[i] = sizeof packed[i];
		text[i] ^= 1;
		must(compress2(packed[i], &size[i], (void *)text, OBJECT_BYTES, 1) == Z_OK, "deflate");
	}
	if (durable) {
		snprintf(folder, sizeof folder, "%s/journal", dir);
		int fd = open(folder, O_WRONLY);
		must(fd >= 0, folder);
		for (int i = 0; i < OBJECTS; i++)
			must(write(fd, packed[i], size[i]) > 0, "journal");
		must(write(fd, text, sizeof text) > 0 && fdatasync(fd) == 0, "journal");
		close(fd);
	}
	for (int i = 0; i < OBJECTS; i++) {
		snprintf(folder, sizeof folder, "%s/objects/%02x", dir, next() & 255);
		hex(name, 38);
		put(folder, name, packed[i], size[i]);
	}
	snprintf(folder, sizeof folder, "%s/work", dir);
	put(folder, "edit.c", text, sizeof text);
	snprintf(folder, sizeof folder, "%s/refs", dir);
	hex(name, 40);
	put(folder, "session", name, 40);
}

static int peak(char **argv)
{
	struct rusage used;
	int status;
	pid_t child = fork();
	if (child == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, 0);
		dup2(null, 1);
		execvp(argv[0], argv);
		_exit(127);
	}
	must(child > 0 && wait4(child, &status, 0, &used) == child, "wait4");
	printf("%ld\n", used.ru_maxrss);
	return status != 0;
}

int main(int argc, char **argv)
{
	struct timespec now;
	if (argc >= 3 && !strcmp(argv[1], "peak"))
		return peak(argv + 2);
	if (argc < 4 || strcmp(argv[1], "edit"))
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	seed = ((unsigned long long)now.tv_nsec << 20 ^ (unsigned long long)now.tv_sec << 44 ^ (unsigned long long)getpid()) | 1;
	prepare(argv[2]);
	edit(argv[2], !strcmp(argv[3], "journal"));
	return 0;
}
