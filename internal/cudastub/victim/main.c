/* victim: a stand-in for a GPU program, for tests, demonstration and measurement.
 *
 *   victim serve             takes commands on stdin
 *   victim loop [options]    runs a training loop with one known fault
 *
 * victim-late is the same "serve" without the libraries linked in: the command
 * "dlopen" loads them. It has "victim-late pauses", too (pauses.c). VICTIM_SERVE
 * leaves the loop out. */
#include <stdio.h>
#include <string.h>

#include "loop.h"
#include "pauses.h"
#include "serve.h"

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "serve"))
		return serve(argc > 2 && !strcmp(argv[2], "--resumed"));
#ifdef VICTIM_LATE
	if (argc > 1 && !strcmp(argv[1], "pauses"))
		return pauses();
#endif
#if !defined(VICTIM_LATE) && !defined(VICTIM_SERVE)
	if (argc > 1 && !strcmp(argv[1], "loop")) {
		struct options o;

		if (parse_options(&o, argc - 2, argv + 2))
			return EXIT_USAGE;
		return run_loop(&o);
	}
#endif
	fprintf(stderr, "usage: %s serve | loop [options]\n", argv[0]);
	return 2;
}
