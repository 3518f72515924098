/* CUPTI: there is nothing to profile, and callers get that answer. */
#include "nvlibs.h"

API cuptiGetVersion(uint32_t *version)
{
	HIT;
	*version = 130200;
	return 0;
}

API cuptiGetResultString(int status, const char **text)
{
	HIT;
	*text = status ? "CUPTI_ERROR_NOT_SUPPORTED (hollow CUPTI)" : "CUPTI_SUCCESS";
	return 0;
}
