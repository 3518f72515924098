#!/usr/bin/env bash
# Builds the helper that the package embeds, for both architectures. The output is a
# function of the sources and the compilers alone. Needs gcc and aarch64-linux-gnu-gcc.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C SOURCE_DATE_EPOCH=0

compile=(-std=gnu11 -Os -Wall -Wextra -Werror -g0 -fPIE -fno-stack-protector -fno-asynchronous-unwind-tables
	-U_FORTIFY_SOURCE -ffile-prefix-map="$PWD"=. -fno-ident)
link=(-nostdlib -pie -Wl,--build-id=none -Wl,--hash-style=gnu -Wl,-z,noseparate-code -Wl,-z,norelro -Wl,-z,noexecstack -Wl,--no-as-needed)

build() { # compiler, strip, output, glibc's loader, extra flags
	local cc=$1 strip=$2 out=$3 loader=$4 extra=$5 work
	work=$(mktemp -d)
	stand_in() { # soname, define: a library with names and nothing else, to link against
		"$cc" -shared -nostdlib -fPIC -fno-builtin -O0 "-D$2" -Wl,--hash-style=gnu -Wl,-soname,"$1" -o "$work/$1" helper/libc.c
	}
	stand_in libc.so.6 LIBC
	stand_in libdl.so.2 LIBDL
	stand_in libpthread.so.0 LIBPTHREAD # NVIDIA's library needs it, and it wants to be there from the start
	# shellcheck disable=SC2086 # flags are words
	"$cc" "${compile[@]}" $extra "${link[@]}" -Wl,--dynamic-linker="$loader" -o "$out" helper/helper.c \
		"$work/libpthread.so.0" "$work/libdl.so.2" "$work/libc.so.6"
	"$strip" --strip-all "$out"
	chmod 755 "$out"
	rm -r "$work"
}

mkdir -p prebuilt
build gcc strip prebuilt/helper_amd64 /lib64/ld-linux-x86-64.so.2 -fcf-protection=none
build aarch64-linux-gnu-gcc aarch64-linux-gnu-strip prebuilt/helper_arm64 /lib/ld-linux-aarch64.so.1 \
	'-mbranch-protection=none -mno-outline-atomics -Wl,-z,max-page-size=65536'
