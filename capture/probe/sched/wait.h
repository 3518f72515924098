/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a thread that goes to sleep waits for, as far as its saved registers and
 * its open files show. Included once, after class_of.
 *
 * This is asked while the thread goes to sleep: what it waits for may be gone when it
 * comes back. It needs no tracepoint of system calls, which every call of every process on the
 * machine would pay for. It runs under the run-queue lock for each sleep of an accounted thread, so
 * it reads no more than the class needs; the socket of a wait is looked up only if the wait is
 * recorded (socket.h).
 */
#ifndef INGERO_WAIT_H
#define INGERO_WAIT_H
#include "connection.h"

// The owner a futex word names. val is what the caller expects in the word: 2 is
// "locked, with waiters" of glibc's pthread_mutex, whose owner's tid is 8 bytes
// on. For other locks that is a guess; the reader checks that the thread exists.
//
// User memory is that of the current task. At a switch-out and in a timer that is the
// thread itself. A page that is not in memory leaves 0, which is "not known".
static __always_inline u32 futex_owner(u64 uaddr, u32 op, u32 val)
{
	u32 cmd = op & 0x7f, v = 0;

	if (cmd == FUTEX_LOCK_PI || cmd == FUTEX_LOCK_PI2) { /* the word is the owner's tid */
		bpf_probe_read_user(&v, 4, (void *)uaddr);
		return v & 0x3fffffff;
	}
	if ((cmd == 0 || cmd == 9) && val == 2) /* FUTEX_WAIT, FUTEX_WAIT_BITSET */
		bpf_probe_read_user(&v, 4, (void *)(uaddr + 8));
	return v;
}

// The class of a wait on a descriptor, by the type of its file; notes the inode. An inode without a
// type is an anonymous one. A regular file or a directory is left to the caller (CLASS_BY_FILE):
// the task's state tells the disk from anything else.
static __always_inline u8 class_of_file(struct thr *t, struct task_struct *task, u32 fd)
{
	struct file *file = file_of(task, fd);

	if (!file)
		return CLASS_OTHER;
	t->ino = BPF_CORE_READ(file, f_inode, i_ino);
	switch (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) {
	case S_IFSOCK:
		return CLASS_NET;
	case S_IFIFO:
	case 0: /* eventfd and other anonymous inodes */
		return CLASS_PIPE;
	case S_IFCHR:
		return CLASS_OTHER;
	}
	return CLASS_BY_FILE;
}

// What does `task`, about to sleep, wait for? Its saved registers still hold the
// system call and its arguments. Except for futexes, in_iowait comes before the table:
// whatever the call, the kernel says that the thread waits for I/O. `& 511` is for the verifier;
// the comparison before it keeps numbers beyond the table from being taken for others.
static __always_inline u8 classify(struct thr *t, struct task_struct *task)
{
	struct pt_regs *r = (struct pt_regs *)bpf_task_pt_regs(task);
	int nr = SYSCALL_NR(r);

	t->nr = nr;
	t->uaddr = t->ino = 0;
	t->holder = 0;
	t->fd = SYSCALL_ARG1(r);
	if (t->state & (TASK_STOPPED | TASK_TRACED)) /* by a signal or a debugger, wherever it was */
		return CLASS_OTHER;
	if (nr < 0 && BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait)) /* a page that has to come from a file */
		return CLASS_BLKIO;
	/*
	 * An exception. A page fault waits uninterruptibly, unless a program provides the page (userfaultfd). Who is frozen
	 * by its control group waits until somebody thaws it.
	 */
	if (nr < 0)
		return t->state == TASK_UNINTERRUPTIBLE ? CLASS_FAULT : CLASS_OTHER;
	u8 k = nr < 512 ? class_of[nr & 511] : CLASS_OTHER;
	if (k == CLASS_FUTEX) {
		t->uaddr = SYSCALL_ARG1(r);
		if (nr == NR_FUTEX) /* futex_wait(2) and futex_waitv(2) have other arguments */
			t->holder = futex_owner(t->uaddr, SYSCALL_ARG2(r), SYSCALL_ARG3(r));
		return k;
	}
	if (BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait)) {
		if (k >= CLASS_BY_FD)
			class_of_file(t, task, SYSCALL_ARG1(r)); /* for its inode */
		return CLASS_BLKIO;
	}
	if (k == CLASS_BY_FD)
		k = class_of_file(t, task, SYSCALL_ARG1(r));
	/*
	 * A file system call: D is the disk or its journal. mmap and its like are none: in D they wait for the lock of
	 * the address space (mmap_lock), unless in_iowait says otherwise.
	 */
	if (k >= CLASS_BY_FD)
		return t->state == TASK_UNINTERRUPTIBLE ? CLASS_BLKIO : CLASS_OTHER;
	return k;
}

#endif
