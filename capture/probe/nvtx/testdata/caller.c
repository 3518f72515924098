/* Does what it reads, and says so when it has. */
#define _GNU_SOURCE
#include "nvtx.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern int cudaStreamSynchronize(void *stream);

enum { ASCII = 1, WIDE = 2, REGISTERED = 3 };

static const attributes *of(int type, const void *message, uint32_t category)
{
	static attributes a;

	a = (attributes){ 2, sizeof a, category, .messageType = type, .message = message };
	return &a;
}

static void each(void)
{
	void *domain = (void *)0xd0;

	nvtxMarkA("moment");
	nvtxMarkW(L"wide \u00e4\u00f6\u00fc \u2211");
	nvtxMarkEx(of(ASCII, "moment ex", 41));
	nvtxRangePushA("step 1");
	nvtxRangePushW(L"wide step");
	nvtxRangePushEx(of(ASCII, "step ex", 42));
	nvtxRangePop();
	nvtxRangePop();
	nvtxRangePop();
	nvtxRangePop();
	nvtxRangeStartA("epoch");
	uint64_t id = nvtxRangeStartW(L"wide epoch");
	nvtxRangeStartEx(of(ASCII, "epoch ex", 43));
	nvtxRangeEnd(id);
	nvtxDomainMarkEx(domain, of(ASCII, "in", 44));
	nvtxDomainRangePushEx(domain, of(WIDE, L"wide in", 45));
	nvtxDomainRangePop(domain);
	id = nvtxDomainRangeStartEx(domain, of(REGISTERED, (void *)0xabc, 46));
	nvtxDomainRangeEnd(domain, id);
}

static void texts(void)
{
	char text[200];

	for (int i = 0; i < 199; i++)
		text[i] = '0' + i % 10;
	text[199] = 0;
	nvtxMarkA(text);
	nvtxMarkA(NULL);
	nvtxMarkA((char *)8);
	nvtxMarkA("");
	memcpy(text + 126, "\xc3\xa4", 2); /* a character of two bytes, of which one is cut off */
	nvtxMarkA(text);
	/* A wide text that ends with its page: the next one cannot be read. */
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(pages + page, page, PROT_NONE);
	wchar_t *wide = (wchar_t *)(pages + page) - 41;
	for (int i = 0; i < 40; i++)
		wide[i] = L'0' + i % 10;
	wide[40] = 0;
	nvtxMarkW(wide);
	nvtxMarkA("a\xff" "b");
}

static void gap(void)
{
	cudaStreamSynchronize(NULL);
	usleep(2000);
	nvtxRangePushA("input");
	usleep(4000);
	nvtxMarkA("here");
	nvtxRangePop();
	usleep(2000);
	cudaStreamSynchronize(NULL);
}

static void *mark(void *unused)
{
	for (int i = 0; i < 100; i++) {
		nvtxRangePushA("load");
		usleep(200);
		nvtxRangePop();
	}
	return unused;
}

static void *call(void *unused)
{
	cudaStreamSynchronize(NULL);
	usleep(2000);
	cudaStreamSynchronize(NULL);
	return unused;
}

static void threads(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, mark, NULL);
	pthread_join(a, NULL);
	pthread_create(&b, NULL, call, NULL);
	pthread_join(b, NULL);
}

int main(void)
{
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof line, stdin)) {
		if (!strcmp(line, "each\n"))
			each();
		else if (!strcmp(line, "texts\n"))
			texts();
		else if (!strcmp(line, "gap\n"))
			gap();
		else if (!strcmp(line, "thread\n"))
			threads();
		fputs(line, stdout);
	}
	return 0;
}
