// The names that the helper uses of the C library, without versions: linked against
// this, it runs with every glibc from 2.17 on, and building it needs no libc for the
// other architecture. Nothing of this file is in the helper.
// (memcpy and memset: the compiler calls them of its own accord.)
#define NAMES(X) \
	X(__libc_start_main) X(_exit) X(clock_gettime) X(memcpy) X(memset) X(poll) X(prctl) X(read) X(syscall) X(write)
#define DL_NAMES(X) X(dlopen) X(dlsym) X(dlerror)
#define DEFINE(name) void name(void) {}

#ifdef LIBDL
DL_NAMES(DEFINE)
#elif !defined(LIBPTHREAD)
NAMES(DEFINE)
#endif
