/* The functions of a library, from its list FUNCTIONS: a row for each, which says what it does, and the
 * function itself. Once in a library. */
enum {
#define FN ROW_INDEX
#include FUNCTIONS
#undef FN
	ROW_COUNT
};

static struct stub_row rows[] = {
#define FN ROW_INIT
#include FUNCTIONS
#undef FN
};

#define FN ROW_FUNCTION
#include FUNCTIONS
#undef FN

static struct stub_table table = {.rows = rows, .n = ROW_COUNT};

__attribute__((constructor)) static void init(void)
{
	cudastub_register(&table);
}
