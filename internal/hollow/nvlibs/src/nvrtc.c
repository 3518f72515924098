/* NVRTC: there is no compiler, and callers get that answer. */
#include "nvlibs.h"

enum { COMPILATION = 6 };

API nvrtcVersion(int *major, int *minor)
{
	HIT;
	*major = 13;
	*minor = 2;
	return 0;
}

API_OF(const char *) nvrtcGetErrorString(int status)
{
	HIT;
	return status ? "NVRTC_ERROR_COMPILATION (the hollow GPU has no compiler)" : "NVRTC_SUCCESS";
}

API nvrtcCreateProgram(void **program, const char *source, const char *name, int headers, const char *const *header,
		       const char *const *include)
{
	HIT;
	return nvlibs_new(program, 64, 1);
}

API nvrtcDestroyProgram(void **program)
{
	HIT;
	free(*program);
	*program = NULL;
	return 0;
}

API nvrtcCompileProgram(void *program, int options, const char *const *option)
{
	HIT;
	return COMPILATION;
}

API nvrtcGetProgramLogSize(void *program, size_t *size)
{
	HIT;
	*size = 1;
	return 0;
}

API nvrtcGetProgramLog(void *program, char *log)
{
	HIT;
	*log = 0;
	return 0;
}
