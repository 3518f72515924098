/* A file whose pages are not in memory: read-io reads it, mmap-io touches a
 * mapping of it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loop.h"

enum { PAGE = 4096, RECORD = 128 << 10, FILE_BYTES = 64 << 20, CHUNK = 1 << 20 }; /* far more than one fault touches */

static struct {
	int fd;
	int direct; /* reads past the page cache, whose pages cost CPU time to fill; or fd, where that is not possible */
	const volatile char *map;
} file = {.fd = -1, .direct = -1};

static void forget_pages(void)
{
	if (file.map)
		madvise((void *)file.map, FILE_BYTES, MADV_DONTNEED); /* mapped pages are not dropped */
	posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* Has this thread made the disk read? */
static long blocks_read(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_inblock;
}

static int fill_file(void)
{
	static char chunk[CHUNK];

	memset(chunk, 1, sizeof(chunk)); /* so that no file system keeps it as a hole */
	for (int i = 0; i < FILE_BYTES / CHUNK; i++)
		if (write(file.fd, chunk, sizeof(chunk)) != sizeof(chunk))
			return -1;
	return fdatasync(file.fd);
}

int cold_file(struct injection *in)
{
	const char *dir = in->run->o.dir;
	char path[512], byte;
	long before;

	snprintf(path, sizeof(path), "%s/victim-%d-shard.tmp", dir, getpid());
	file.fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	if (file.fd < 0)
		return refuse("cannot write a file in %s", dir);
	file.direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (file.direct < 0)
		file.direct = file.fd;
	unlink(path);
	if (fill_file())
		return refuse("cannot write %d MiB in %s", FILE_BYTES >> 20, dir);
	posix_fadvise(file.fd, 0, 0, POSIX_FADV_RANDOM);
	forget_pages();
	before = blocks_read();
	if (pread(file.fd, &byte, 1, FILE_BYTES / 2) != 1 || blocks_read() == before)
		return refuse("%s keeps its files in memory; --dir must be on a disk", dir);
	return 0;
}

static off_t random_place(struct injection *in, int size)
{
	return (off_t)(next_random(&in->rng) % (uint64_t)(FILE_BYTES / size)) * size;
}

FRAME void read_cold(struct injection *in, uint64_t ns)
{
	static char record[RECORD] __attribute__((aligned(PAGE)));
	uint64_t t = now_ns();

	if (file.direct == file.fd)
		forget_pages();
	while (now_ns() - t < ns)
		if (pread(file.direct, record, sizeof(record), random_place(in, RECORD)) != sizeof(record))
			return;
}

FRAME static void read_shard(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns();

	(void)d;
	if (!injection_due(in, t))
		return;
	read_cold(in, injection_ns(in));
	inject(in, (int64_t)(now_ns() - t));
}

static int map_file(struct injection *in)
{
	void *map;

	if (cold_file(in))
		return -1;
	map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file.fd, 0);
	if (map == MAP_FAILED)
		return refuse("cannot map a file in %s", in->run->o.dir);
	madvise(map, FILE_BYTES, MADV_RANDOM);
	file.map = map;
	return 0;
}

FRAME static void lookup_embeddings(struct injection *in, struct dispatcher *d)
{
	uint64_t t = now_ns(), ns;

	(void)d;
	if (!injection_due(in, t))
		return;
	ns = injection_ns(in);
	forget_pages();
	while (now_ns() - t < ns)
		(void)file.map[random_place(in, PAGE)];
	inject(in, (int64_t)(now_ns() - t));
}

static void close_file(struct injection *in)
{
	(void)in;
	if (file.map)
		munmap((void *)file.map, FILE_BYTES);
	if (file.direct != file.fd)
		close(file.direct);
	close(file.fd);
}

const struct fault fault_read_io = {
	.name = "read-io", .parts = PART_FILE, .self = 1, .setup = cold_file, .host = read_shard, .end = close_file,
};
const struct fault fault_mmap_io = {
	.name = "mmap-io", .parts = PART_FILE, .self = 1, .setup = map_file, .host = lookup_embeddings,
	.end = close_file,
};
