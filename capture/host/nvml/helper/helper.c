// Reads GPUs through NVIDIA's management library, for an agent that is static and
// cannot load it: "helper LIBRARY PERIOD_MS" writes records (record.h) to its output
// each period until its input ends, its parent dies, or it fails. It prints nothing,
// changes nothing, and has no need of any privilege.
#include <dlfcn.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "nvml.h"
#include "record.h"
#include "start.h"

// The descriptors behind the usual ones: the library.
enum { LIBRARY = 3 };

enum { MAX_GPUS = 64, MAX_PROCESSES = 1024, MS = 1000000 };

// The library's functions; null where this version of it has none.
static struct {
	int (*init)(void);
	int (*driver_version)(char *, unsigned int);
	int (*nvml_version)(char *, unsigned int);
	const char *(*error_string)(int);
	int (*count)(unsigned int *);
	int (*handle)(unsigned int, nvmlDevice_t *);
	int (*name)(nvmlDevice_t, char *, unsigned int);
	int (*uuid)(nvmlDevice_t, char *, unsigned int);
	int (*pci)(nvmlDevice_t, nvmlPciInfo_t *);
	int (*util)(nvmlDevice_t, nvmlUtilization_t *);
	int (*memory)(nvmlDevice_t, nvmlMemory_t *);
	int (*memory_v2)(nvmlDevice_t, nvmlMemory_v2_t *);
	int (*clock)(nvmlDevice_t, int, unsigned int *);
	int (*max_clock)(nvmlDevice_t, int, unsigned int *);
	int (*temp)(nvmlDevice_t, int, unsigned int *);
	int (*power)(nvmlDevice_t, unsigned int *);
	int (*power_limit)(nvmlDevice_t, unsigned int *);
	int (*reasons)(nvmlDevice_t, unsigned long long *);
	int (*ecc)(nvmlDevice_t, int, int, unsigned long long *);
	int (*mig)(nvmlDevice_t, unsigned int *, unsigned int *);
	int (*processes)(nvmlDevice_t, unsigned int *, void *);
	int (*event_set)(nvmlEventSet_t *);
	int (*register_events)(nvmlDevice_t, unsigned long long, nvmlEventSet_t);
	int (*event_wait)(nvmlEventSet_t, nvmlEventData_t *, unsigned int);
} nvml;

// Which of them is found under which names, the first that is there.
static const struct {
	void *function;
	const char *names[2];
} symbols[] = {
	{&nvml.init, {"nvmlInit_v2"}},
	{&nvml.driver_version, {"nvmlSystemGetDriverVersion"}},
	{&nvml.nvml_version, {"nvmlSystemGetNVMLVersion"}},
	{&nvml.error_string, {"nvmlErrorString"}},
	{&nvml.count, {"nvmlDeviceGetCount_v2"}},
	{&nvml.handle, {"nvmlDeviceGetHandleByIndex_v2"}},
	{&nvml.name, {"nvmlDeviceGetName"}},
	{&nvml.uuid, {"nvmlDeviceGetUUID"}},
	{&nvml.pci, {"nvmlDeviceGetPciInfo_v3"}},
	{&nvml.util, {"nvmlDeviceGetUtilizationRates"}},
	{&nvml.memory, {"nvmlDeviceGetMemoryInfo"}},
	{&nvml.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"}},
	{&nvml.clock, {"nvmlDeviceGetClockInfo"}},
	{&nvml.max_clock, {"nvmlDeviceGetMaxClockInfo"}},
	{&nvml.temp, {"nvmlDeviceGetTemperature"}},
	{&nvml.power, {"nvmlDeviceGetPowerUsage"}},
	{&nvml.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"}},
	{&nvml.reasons, {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
	{&nvml.ecc, {"nvmlDeviceGetTotalEccErrors"}},
	{&nvml.mig, {"nvmlDeviceGetMigMode"}},
	{&nvml.event_set, {"nvmlEventSetCreate"}},
	{&nvml.register_events, {"nvmlDeviceRegisterEvents"}},
	{&nvml.event_wait, {"nvmlEventSetWait_v2", "nvmlEventSetWait"}},
};

static struct {
	nvmlDevice_t handle;
	int lost; // the error that took the handle's place
	int xid;  // the error of asking for events
	uint64_t max_sm;
	int max_sm_status;
	unsigned int readings; // so far
	int mig_status;
	unsigned int mig;
} gpus[MAX_GPUS];

static unsigned int num_gpus;
static nvmlEventSet_t events; // null: none come

// Twice the room, for a library whose entries are larger than it documents.
static union {
	nvmlProcessInfo_v1_t v1[MAX_PROCESSES];
	nvmlProcessInfo_v2_t v2[2 * MAX_PROCESSES];
} processes;
static int processes_v2; // which of them the function fills

static uint64_t now(clockid_t clock)
{
	struct timespec t;
	return clock_gettime(clock, &t) ? 0 : (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void send(struct record *r)
{
	r->at = now(r->kind == RECORD_ROUND ? CLOCK_MONOTONIC : CLOCK_REALTIME);
	if (write(1, r, sizeof *r) != (ssize_t)sizeof *r)
		_exit(0); // nobody reads on
}

// copy fills a field of TEXT bytes, of which the last stays 0.
static void copy(char *to, const char *from)
{
	for (int i = 0; from && from[i] && i < TEXT - 1; i++)
		to[i] = from[i];
}

__attribute__((noreturn)) static void fail(enum stage stage, int code, const char *what)
{
	struct record r = {.kind = RECORD_FAILURE};
	r.number = stage;
	r.amount = (uint64_t)code;
	copy(r.text, what);
	if (code && nvml.error_string)
		copy(r.other, nvml.error_string(code));
	send(&r);
	_exit(1);
}

// confine gives up what reading needs not: the agent may run this as root. A parent
// that died before this has closed the input.
static void confine(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};
	prctl(PR_SET_NAME, "ingero-nvml");
	syscall(SYS_close_range, LIBRARY + 1, ~0u, 0); // what the agent was given by others (Linux 5.9)
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	syscall(SYS_capset, &head, none);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		fail(STAGE_LOAD, 0, dlerror());
	for (unsigned i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *f = dlsym(lib, symbols[i].names[0]);
		if (!f && symbols[i].names[1])
			f = dlsym(lib, symbols[i].names[1]);
		memcpy(symbols[i].function, &f, sizeof f);
	}
	// Not _v3: its entries grew and shrank again in branch 535, under one name.
	void *f = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v2");
	processes_v2 = f != 0;
	if (!f)
		f = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses");
	memcpy(&nvml.processes, &f, sizeof f);
	if (!nvml.init || !nvml.count || !nvml.handle)
		fail(STAGE_SYMBOL, 0, !nvml.init ? "nvmlInit_v2" : !nvml.count ? "nvmlDeviceGetCount_v2" : "nvmlDeviceGetHandleByIndex_v2");
}

static void begin_device(unsigned int i)
{
	struct record r = {.kind = RECORD_DEVICE, .gpu = i};
	nvmlPciInfo_t pci = {.domain = 0};
	unsigned int mhz = 0;
	gpus[i].lost = nvml.handle(i, &gpus[i].handle);
	gpus[i].xid = gpus[i].max_sm_status = NVML_ERROR_FUNCTION_NOT_FOUND;
	r.number = (uint32_t)gpus[i].lost;
	if (!gpus[i].lost) {
		if (nvml.name && nvml.name(gpus[i].handle, r.text, TEXT))
			r.text[0] = 0;
		if (nvml.uuid && nvml.uuid(gpus[i].handle, r.other, TEXT))
			r.other[0] = 0;
		if (nvml.pci && !nvml.pci(gpus[i].handle, &pci))
			memcpy(r.bus, pci.busId, BUS - 1);
		if (nvml.max_clock)
			gpus[i].max_sm_status = nvml.max_clock(gpus[i].handle, NVML_CLOCK_SM, &mhz);
		gpus[i].max_sm = mhz;
		if (events && nvml.register_events)
			gpus[i].xid = nvml.register_events(gpus[i].handle, nvmlEventTypeXidCriticalError, events);
	}
	send(&r);
}

static void begin_driver(void)
{
	struct record r = {.kind = RECORD_DRIVER};
	int e = nvml.init();
	if (e)
		fail(STAGE_INIT, e, "nvmlInit_v2");
	e = nvml.count(&num_gpus);
	if (e)
		fail(STAGE_COUNT, e, "nvmlDeviceGetCount_v2");
	r.number = num_gpus;
	if (num_gpus > MAX_GPUS)
		num_gpus = MAX_GPUS;
	if (nvml.driver_version && nvml.driver_version(r.text, TEXT))
		r.text[0] = 0;
	if (nvml.nvml_version && nvml.nvml_version(r.other, TEXT))
		r.other[0] = 0;
	send(&r);
	if (nvml.event_wait && nvml.event_set && nvml.event_set(&events))
		events = 0;
	for (unsigned int i = 0; i < num_gpus; i++)
		begin_device(i);
}

// GET reads one or two fields with a call, if the library has the function.
#define GET(function, call, set) \
	do { \
		int e = nvml.function ? nvml.function call : NVML_ERROR_FUNCTION_NOT_FOUND; \
		set; \
	} while (0)

static void put(struct record *r, enum field f, int error, uint64_t value)
{
	r->status[f] = (uint16_t)error;
	r->value[f] = error ? 0 : value;
}

static void read_ecc(struct record *r, nvmlDevice_t d)
{
	static const struct {
		enum field field;
		int type, counter;
	} counts[] = {
		{FIELD_ECC_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC},
		{FIELD_ECC_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC},
		{FIELD_ECC_CORRECTED_EVER, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC},
		{FIELD_ECC_UNCORRECTED_EVER, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC},
	};
	for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
		unsigned long long n = 0;
		GET(ecc, (d, counts[i].type, counts[i].counter, &n), put(r, counts[i].field, e, n));
	}
}

// read_memory asks the function that counts the driver's reserved memory apart. The older
// one, of drivers before 510, counts it as used.
static void read_memory(struct record *r, nvmlDevice_t d)
{
	nvmlMemory_v2_t v2 = {.version = NVML_MEMORY_V2};
	nvmlMemory_t v1 = {0};
	if (nvml.memory_v2 && !nvml.memory_v2(d, &v2)) {
		put(r, FIELD_MEM_USED, 0, v2.used);
		put(r, FIELD_MEM_TOTAL, 0, v2.total);
		return;
	}
	GET(memory, (d, &v1), (put(r, FIELD_MEM_USED, e, v1.used), put(r, FIELD_MEM_TOTAL, e, v1.total)));
}

// MIG_EVERY is how many readings share one of the MIG mode. On an H100 that call takes 165 us of CPU, as
// long as all others together if their values are at hand, and the mode changes only with a reset.
#define MIG_EVERY 60

static void read_device(unsigned int i, struct record *r)
{
	nvmlDevice_t d = gpus[i].handle;
	nvmlUtilization_t u = {0};
	unsigned int v = 0, pending = 0;
	unsigned long long w = 0;
	GET(util, (d, &u), (put(r, FIELD_UTIL, e, u.gpu), put(r, FIELD_UTIL_MEM, e, u.memory)));
	read_memory(r, d);
	GET(clock, (d, NVML_CLOCK_SM, &v), put(r, FIELD_CLOCK_SM, e, v));
	GET(clock, (d, NVML_CLOCK_MEM, &v), put(r, FIELD_CLOCK_MEM, e, v));
	GET(temp, (d, NVML_TEMPERATURE_GPU, &v), put(r, FIELD_TEMP, e, v));
	GET(power, (d, &v), put(r, FIELD_POWER, e, v));
	GET(power_limit, (d, &v), put(r, FIELD_POWER_LIMIT, e, v));
	GET(reasons, (d, &w), put(r, FIELD_REASONS, e, w));
	if (gpus[i].readings++ % MIG_EVERY == 0)
		GET(mig, (d, &v, &pending), (gpus[i].mig_status = e, gpus[i].mig = v == NVML_DEVICE_MIG_ENABLE));
	put(r, FIELD_MIG, gpus[i].mig_status, gpus[i].mig);
	put(r, FIELD_MAX_SM, gpus[i].max_sm_status, gpus[i].max_sm);
	put(r, FIELD_XID, gpus[i].xid, 0);
	read_ecc(r, d);
}

// read_processes puts the count into the reading and sends a record for each.
static void read_processes(unsigned int i, struct record *reading)
{
	unsigned int n = MAX_PROCESSES;
	GET(processes, (gpus[i].handle, &n, &processes), put(reading, FIELD_PROCESSES, e, n));
	if (reading->status[FIELD_PROCESSES])
		return;
	for (unsigned int k = 0; k < n && k < MAX_PROCESSES; k++) {
		struct record r = {.kind = RECORD_PROCESS, .gpu = i};
		r.number = processes_v2 ? processes.v2[k].pid : processes.v1[k].pid;
		r.amount = processes_v2 ? processes.v2[k].usedGpuMemory : processes.v1[k].usedGpuMemory;
		send(&r);
	}
}

static void read_all(void)
{
	for (unsigned int i = 0; i < num_gpus; i++) {
		struct record r = {.kind = RECORD_READING, .gpu = i};
		if (gpus[i].lost) {
			for (int f = 0; f < FIELDS; f++)
				put(&r, (enum field)f, gpus[i].lost, 0);
		} else {
			read_device(i, &r);
			read_processes(i, &r);
		}
		send(&r);
	}
	struct record r = {.kind = RECORD_ROUND};
	r.amount = now(CLOCK_PROCESS_CPUTIME_ID);
	send(&r);
}

static void send_xid(nvmlEventData_t *d)
{
	struct record r = {.kind = RECORD_XID, .gpu = num_gpus};
	for (unsigned int i = 0; i < num_gpus; i++)
		if (gpus[i].handle == d->device && !gpus[i].lost)
			r.gpu = i;
	r.number = (uint32_t)d->eventData;
	if (d->eventType & nvmlEventTypeXidCriticalError)
		send(&r);
}

// input waits for the end of the input, at most so long.
static void input(int ms)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};
	char c;
	if (poll(&p, 1, ms) > 0 && read(0, &c, 1) <= 0)
		_exit(0);
}

// sleep_until passes the time with waiting for errors. The library may return at once
// when it has no events to offer; then there is nothing to do but sleep.
static void sleep_until(uint64_t then)
{
	for (;;) {
		uint64_t at = now(CLOCK_MONOTONIC);
		nvmlEventData_t d = {0};
		int ms = then > at ? (int)((then - at + MS - 1) / MS) : 0;
		input(0);
		if (!ms)
			return;
		if (!events || nvml.event_wait(events, &d, (unsigned int)ms)) {
			at = now(CLOCK_MONOTONIC);
			input(then > at ? (int)((then - at + MS - 1) / MS) : 0);
			return;
		}
		send_xid(&d);
	}
}

int main(int argc, char **argv, char **env)
{
	uint64_t period = 0, next;
	(void)env;
	if (argc != 3)
		_exit(2);
	for (const char *p = argv[2]; *p >= '0' && *p <= '9'; p++)
		period = period * 10 + (uint64_t)(*p - '0');
	if (!period)
		_exit(2);
	period *= MS;
	confine();
	load(argv[1]);
	begin_driver();
	for (next = now(CLOCK_MONOTONIC);;) {
		sleep_until(next);
		read_all();
		uint64_t at = now(CLOCK_MONOTONIC);
		next += at > next ? ((at - next) / period + 1) * period : period; // those that were late are not made up for
	}
}
