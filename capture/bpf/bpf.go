// Package bpf holds the C sources shared by all probes and the Go mirror of the
// wire records they emit (types_bpfel.go, generated from the BTF of
// types.bpf.c). It loads nothing; that is the probe package's business.
package bpf

//go:generate go tool bpf2go -cc clang -target bpfel -go-package bpf -type call_rec -type call_led_rec -type gap_rec -type off_rec -type off_full_rec -type total_rec -type life_rec -type stack_rec -type stall_rec -type reclaim_rec -type sock_rec -type py_proc -type py_str -type pycode_rec -type py_frame -type pystack_rec -type pystack_flag -type pyframe_flag -type py_flag -type py_table -type name_rec -type name_long_rec -type flight_rec -type flight_call -type return_addr -type returns -type request_rec -type request_key -type request_sum -type tcp_rec -type mark_rec -type code_rec -type mark_form -type stack_of -type hdr -type led -type culprit -type kind -type life -type reclaim -type name -type loss -type class Wire types.bpf.c -- -O2 -g -Wall -Werror
