/* Prototypes of everything the stand-ins export. */
#ifndef CUDASTUB_API_H
#define CUDASTUB_API_H

#include "row.h"

#define FN PROTOTYPE
#include "cuda.def"
#include "cudart.def"
#undef FN

#endif
