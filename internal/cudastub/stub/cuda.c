/* libcuda.so.1 */
#include "api.h"

enum {
#define FN ROW_INDEX
#include "cuda.def"
#undef FN
	ROW_COUNT
};

static struct stub_row rows[] = {
#define FN ROW_INIT
#include "cuda.def"
#undef FN
};

#define FN ROW_FUNCTION
#include "cuda.def"
#undef FN

static struct stub_table table = {.rows = rows, .n = ROW_COUNT};

__attribute__((constructor)) static void init(void)
{
	cudastub_register(&table);
}
