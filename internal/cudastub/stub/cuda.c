/* libcuda.so.1 */
#include "api.h"

#define FUNCTIONS "cuda.def"
#include "rows.h"
