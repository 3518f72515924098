/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The part of the wire contract (event.h) for Python: what user space gives the
 * walker of python.h for a process, and what the walker reports.
 */
#ifndef INGERO_PYTHON_REC_H
#define INGERO_PYTHON_REC_H

#define NPYFRAME 128 /* frames of a stack; a power of two */
#define NPYTABLE 16  /* records that one line table is split over */
#define PY_NAME_BYTES 256
#define PY_FILE_BYTES 512
#define PY_TABLE_BYTES 4096

/* py_proc.flags: what differs between versions, besides offsets. */
enum py_flag {
	PY_CFRAME = 1,      /* 3.11, 3.12: the thread state points to a _PyCFrame, that to the frame */
	PY_FRAME_OBJECT = 2, /* 3.8 to 3.10: a frame holds an index, not a pointer, and is a C call of its own */
	PY_IS_ENTRY = 4,    /* 3.11: a frame says itself whether C code called it */
	PY_SHIM = 8,        /* from 3.12: a frame without code lies where C code called */
	PY_WORD_INDEX = 16, /* 3.10: the index counts instructions of two bytes */
};

/* How a code object maps instructions to lines. */
enum py_table {
	PY_TABLE_LNOTAB = 1, /* co_lnotab, 3.8 and 3.9 */
	PY_TABLE_LINES,      /* co_linetable of 3.10 */
	PY_TABLE_LOCATIONS,  /* co_linetable from 3.11 */
};

/* pystack_rec.flags */
enum pystack_flag {
	PYSTACK_CUT = 1,    /* deeper than NPYFRAME */
	PYSTACK_BROKEN = 2, /* memory that could not be read */
};

/* py_frame.flags */
enum pyframe_flag {
	PYFRAME_ENTRY = 1, /* called by C code, in a run of the interpreter of its own */
};

/*
 * The layout of an interpreter's structures, offsets in bytes. Written by user
 * space for each process that runs one; see package capture/symbol/python.
 */
struct py_proc {
	u64 interp_head; /* address of the pointer to the first PyInterpreterState */
	u64 seed;        /* of all hashes of the process; with a new one everything is sent again */
	u32 flags;       /* enum py_flag */
	u32 table;       /* enum py_table */
	u32 interp_next, interp_threads;
	u32 ts_next, ts_thread_id, ts_frame, cframe_frame;
	u32 frame_bytes; /* of a frame that are read at once, at most PY_BLOCK */
	u32 frame_code, frame_instr, frame_prev, frame_owner, frame_entry;
	u32 code_at, code_bytes; /* the part of a code object that is read at once */
	u32 code_firstline, code_file, code_name, code_table; /* in it */
	u32 code_instrs; /* where the instructions are in a code object */
	u32 str_ascii, str_compact; /* where the characters are in a str */
	u32 pad;
};

/* The length of a str in characters, and its state word (PyASCIIObject.state). */
struct py_str {
	u32 length, state;
};

/*
 * A code object, sent before the first stack that has it. If a name is too long,
 * only its end is sent. A line table that is too long comes in several records.
 */
struct pycode_rec {
	struct hdr h; /* start: of the call; sub: enum py_table */
	u32 tgid;
	s32 firstline;
	u64 code;                    /* what py_frame calls it */
	u32 table_bytes, table_at;   /* of the whole, and where this piece begins */
	struct py_str name_str, file_str;
	u8 name[PY_NAME_BYTES];
	u8 file[PY_FILE_BYTES];
	u8 table[PY_TABLE_BYTES]; /* the record ends where the piece does */
};

struct py_frame {
	u64 code;  /* hash of the code object's address and contents */
	s32 instr; /* byte offset of the instruction; negative before the first */
	u32 flags;
};

/*
 * The Python frames of a call, innermost first. Sent before the native stack and
 * the call itself. A stack that was sent before comes without its frames.
 */
struct pystack_rec {
	struct hdr h;
	u32 tgid;
	u32 n; /* frames that follow; 0: sent before */
	u64 hash;
	u32 flags;
	u32 pad;
	struct py_frame f[NPYFRAME]; /* the record ends after the last one */
};

_Static_assert(sizeof(struct py_proc) == 112, "py_proc");
_Static_assert(sizeof(struct pycode_rec) == 56 + 256 + 512 + 4096, "pycode_rec");
_Static_assert(sizeof(struct pystack_rec) == 40 + 16 * NPYFRAME, "pystack_rec");

#endif
