// What the helper writes to its output: records of one size, each with one write(2),
// which a pipe takes as a whole. Mirrored by ../record.go.
#ifndef RECORD_H
#define RECORD_H

#include <stdint.h>

enum kind {
	RECORD_DRIVER = 1,  // once: text is the driver's version, other the library's, number the GPUs
	RECORD_DEVICE = 2,  // once for each GPU: text is its name, other its UUID, bus its PCI address
	RECORD_READING = 3, // each second for each GPU
	RECORD_PROCESS = 4, // each second for each process on it: number is the pid, amount its bytes
	RECORD_XID = 5,     // number is the Xid
	RECORD_ROUND = 6,   // all GPUs have been read: amount is the CPU time used since the start, ns
	RECORD_FAILURE = 7, // the helper ends: number is the stage, amount NVML's error, text and other say what
};

// Where a failure was.
enum stage { STAGE_LOAD = 1, STAGE_SYMBOL = 2, STAGE_INIT = 3, STAGE_COUNT = 4 };

enum field {
	FIELD_UTIL,           // percent
	FIELD_UTIL_MEM,       // percent
	FIELD_MEM_USED,       // bytes
	FIELD_MEM_TOTAL,      // bytes
	FIELD_CLOCK_SM,       // MHz
	FIELD_CLOCK_MEM,      // MHz
	FIELD_MAX_SM,         // MHz
	FIELD_TEMP,           // degrees Celsius
	FIELD_POWER,          // mW
	FIELD_POWER_LIMIT,    // mW
	FIELD_REASONS,        // nvmlClocksEventReasons
	FIELD_ECC_CORRECTED,  // errors since the driver was loaded
	FIELD_ECC_UNCORRECTED,
	FIELD_ECC_CORRECTED_EVER, // errors in the GPU's life
	FIELD_ECC_UNCORRECTED_EVER,
	FIELD_MIG,       // 1: divided into instances
	FIELD_PROCESSES, // how many
	FIELD_XID,       // no value: whether Xid events come
	FIELDS,
};

enum { TEXT = 96, BUS = 32 };

struct record {
	uint32_t kind;
	uint32_t gpu;
	uint64_t at; // CLOCK_REALTIME, ns; of RECORD_ROUND CLOCK_MONOTONIC
	union {
		struct {
			uint64_t value[FIELDS];
			uint16_t status[FIELDS]; // nvmlReturn_t: 0 if there is a value
		};
		struct {
			uint64_t amount;
			uint32_t number;
			char bus[BUS], text[TEXT], other[TEXT];
		};
		uint8_t size[240];
	};
};

_Static_assert(sizeof(struct record) == 256, "record.go");

#endif
