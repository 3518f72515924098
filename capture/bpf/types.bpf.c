//go:build ignore

// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
// Nothing to run: an object whose BTF holds the wire records, from which their Go
// mirror is generated.
#include "include/kernel.h"
#include "include/event.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

// Clang leaves types out of the BTF that nothing uses. A pointer is enough, and a record
// that contains another one brings it along. A new record needs a line here, and a
// -type in capture/bpf/bpf.go.
struct call_led_rec *unused_call __attribute__((unused));
struct gap_rec *unused_gap __attribute__((unused));
struct off_full_rec *unused_off __attribute__((unused));
struct total_rec *unused_total __attribute__((unused));
struct life_rec *unused_life __attribute__((unused));
struct stall_rec *unused_stall __attribute__((unused));
struct reclaim_rec *unused_reclaim __attribute__((unused));
struct sock_rec *unused_sock __attribute__((unused));
struct name_long_rec *unused_name __attribute__((unused));
struct flight_rec *unused_flight __attribute__((unused));
struct request_rec *unused_request __attribute__((unused));
struct request_key *unused_request_key __attribute__((unused));
struct request_sum *unused_request_sum __attribute__((unused));
struct tcp_rec *unused_tcp __attribute__((unused));
struct code_rec *unused_code __attribute__((unused));
struct mark_rec *unused_mark __attribute__((unused));
struct stack_rec *unused_stack __attribute__((unused));
struct pycode_rec *unused_pycode __attribute__((unused));
struct pystack_rec *unused_pystack __attribute__((unused));
struct py_proc *unused_py_proc __attribute__((unused));
enum pystack_flag *unused_pystack_flag __attribute__((unused));
enum pyframe_flag *unused_pyframe_flag __attribute__((unused));
enum py_flag *unused_py_flag __attribute__((unused));
enum py_table *unused_py_table __attribute__((unused));
enum kind *unused_kind __attribute__((unused));
enum stack_of *unused_stack_of __attribute__((unused));
enum life *unused_life_kind __attribute__((unused));
enum reclaim *unused_reclaim_kind __attribute__((unused));
enum mark_form *unused_mark_form __attribute__((unused));
enum name *unused_name_kind __attribute__((unused));
enum loss *unused_loss __attribute__((unused));
enum class *unused_class __attribute__((unused));
