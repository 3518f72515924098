/* A libnvToolsExt that answers as one does into which a tool is loaded. */
#include "nvtx.h"

static _Thread_local int level;
static volatile int other;
static volatile uint64_t last = 0x100000006;

static int push(void) { return level++; }
static int pop(void) { return level > 0 ? --level : -1; }
static uint64_t begin(void) { return ++last; }

void nvtxMarkA(const char *m) { other = 1; }
void nvtxMarkW(const wchar_t *m) { other = 2; }
void nvtxMarkEx(const attributes *a) { other = 3; }
int nvtxRangePushA(const char *m) { other = 4; return push(); }
int nvtxRangePushW(const wchar_t *m) { other = 5; return push(); }
int nvtxRangePushEx(const attributes *a) { other = 6; return push(); }
int nvtxRangePop(void) { other = 7; return pop(); }
uint64_t nvtxRangeStartA(const char *m) { other = 8; return begin(); }
uint64_t nvtxRangeStartW(const wchar_t *m) { other = 9; return begin(); }
uint64_t nvtxRangeStartEx(const attributes *a) { other = 10; return begin(); }
void nvtxRangeEnd(uint64_t id) { other = 11; }
void nvtxDomainMarkEx(void *domain, const attributes *a) { other = 12; }
int nvtxDomainRangePushEx(void *domain, const attributes *a) { other = 13; return push(); }
int nvtxDomainRangePop(void *domain) { other = 14; return pop(); }
uint64_t nvtxDomainRangeStartEx(void *domain, const attributes *a) { other = 15; return begin(); }
void nvtxDomainRangeEnd(void *domain, uint64_t id) { other = 16; }
