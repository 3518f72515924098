/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a process touched. The system call programs keep it in maps, and user space
 * reads these: package syscalls mirrors the structs. Nothing here is a wire
 * record; numbers are running totals of the process. Keys have no implicit padding: a hash
 * map compares all of their bytes. Rows of a process are deleted by user space
 * (capture/probe/syscalls/read.go) after it has ended and was read once more.
 */
#ifndef INGERO_TOUCH_H
#define INGERO_TOUCH_H
#include "kernel.h"

/*
 * What a system call did with its arguments; the loader fills what_of[] from
 * capture/probe/syscalls/access.go, since the numbers of calls depend on the architecture.
 */
enum what {
	WHAT_NONE,
	WHAT_READ,     /* bytes from descriptor 1 */
	WHAT_WRITE,    /* bytes to descriptor 1 */
	WHAT_SENDTO,   /* bytes to descriptor 1, address in argument 5 */
	WHAT_SENDFILE, /* bytes from descriptor 2 to descriptor 1 */
	WHAT_SPLICE,   /* bytes from descriptor 1 to descriptor 3 */
	WHAT_OPEN,     /* path in argument 1, returns a descriptor */
	WHAT_OPENAT,   /* path in argument 2, returns a descriptor */
	WHAT_CONNECT,  /* descriptor 1, address in argument 2 */
	WHAT_ACCEPT,   /* returns a descriptor */
	WHAT_LISTEN,   /* descriptor 1 */
	WHAT_EXEC,     /* path in argument 1, returns only if it failed */
	WHAT_EXECAT,   /* path in argument 2 */
	WHAT_SENDMSG,  /* bytes to descriptor 1, msghdr in argument 2 */
	WHAT_SENDMMSG, /* messages to descriptor 1, mmsghdrs in argument 2; returns how many */
	WHAT_RECVMMSG, /* messages from descriptor 1, likewise */
};

/* A system call of a process, by number, and what its calls add up to. Times in ns. */
struct call_key {
	u32 tgid, nr;
};
struct call_sum {
	u64 calls, errors;
	u64 ns, max;
	u64 cpu; /* of ns, on a CPU */
};

/* How often a call failed with an errno (positive). */
struct errno_key {
	u32 tgid, nr;
	s32 err, pad;
};

/* A file, directory, device, pipe or socket of a process. After a file is deleted, another
 * file may get its inode number, but with another generation. */
struct touch_key {
	u64 ino;
	u32 dev, gen;
	u32 tgid, pad;
};

/* What was done with a socket: bits of touch.how. */
#define HOW_CONNECT 1
#define HOW_ACCEPT 2
#define HOW_LISTEN 4

/*
 * How often something was used, and how much. All counts are of calls that returned. The threads
 * of a process share a row, so counts are added to atomically. The fields of a socket are plainly
 * stored: threads that do so at the same time store the same, but `how` may lose a bit.
 */
struct touch {
	u64 opens, reads, read_bytes, writes, write_bytes, errors;
	u64 first; /* when it was first seen */
	u32 mode;  /* i_mode */
	u32 named; /* its name is in names, or was */
	/* sockets; ports in host order */
	u16 family, protocol, lport, rport;
	u32 how;  /* HOW_CONNECT, … */
	u32 peer; /* AF_UNIX: process at the other end when it was connected */
	u8 raddr[16]; /* IPv4 mapped into IPv6 */
};

/* Path components, the last one first, each with its NUL; or, of a socket, its
 * path as it is (one part). Longer ones are cut off at the root's side. */
#define PATH_ROOM 512
struct path_name {
	u32 len, cut;
	u8 b[PATH_ROOM];
};

/* A path that could not be opened or executed, as the program gave it. */
#define MISS_ROOM 224
struct miss_key {
	u32 tgid;
	s32 err;
	u8 path[MISS_ROOM];
};

/* A program that a process executed; by time, since a process may execute several. */
struct exec_key {
	u64 at;
	u32 tgid, pad;
};
#define EXEC_ROOM 256
struct exec_name {
	u32 path_len, args_len; /* with the NUL; arguments are separated by NULs */
	u8 path[EXEC_ROOM], args[EXEC_ROOM];
};

/* On-CPU time since a process began to be accounted for, in ns: of threads that ended,
 * and of those that lived at the visit of the iterator with this number. Only the iterator
 * writes `living`, in one run at a time; threads that end add to `ended`. */
struct cpu_sum {
	u64 ended, living, visit;
};

_Static_assert(sizeof(struct touch_key) == 24, "touch_key");
_Static_assert(sizeof(struct touch) == 96, "touch");
_Static_assert(sizeof(struct path_name) == 520, "path_name");
_Static_assert(sizeof(struct miss_key) == 232, "miss_key");
_Static_assert(sizeof(struct exec_name) == 520, "exec_name");

#endif
