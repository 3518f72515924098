/* The part of nvToolsExt.h (NVTX 2) that the tests need. */
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	uint64_t payload;
	int32_t messageType;
	const void *message;
} attributes;

void nvtxMarkA(const char *m);
void nvtxMarkW(const wchar_t *m);
void nvtxMarkEx(const attributes *a);
int nvtxRangePushA(const char *m);
int nvtxRangePushW(const wchar_t *m);
int nvtxRangePushEx(const attributes *a);
int nvtxRangePop(void);
uint64_t nvtxRangeStartA(const char *m);
uint64_t nvtxRangeStartW(const wchar_t *m);
uint64_t nvtxRangeStartEx(const attributes *a);
void nvtxRangeEnd(uint64_t id);
void nvtxDomainMarkEx(void *domain, const attributes *a);
int nvtxDomainRangePushEx(void *domain, const attributes *a);
int nvtxDomainRangePop(void *domain);
uint64_t nvtxDomainRangeStartEx(void *domain, const attributes *a);
void nvtxDomainRangeEnd(void *domain, uint64_t id);
