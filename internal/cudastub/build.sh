#!/usr/bin/env bash
# Builds the stand-in libraries and the victim programs that the Go packages embed.
#
# The output is a function of the sources and the compilers alone: no build ids,
# no time stamps, no paths. Needs gcc and, for arm64, aarch64-linux-gnu-gcc;
# "build.sh amd64" or "build.sh arm64" builds one of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export LC_ALL=C SOURCE_DATE_EPOCH=0

common=(-std=c11 -O2 -Wall -Wextra -Werror -Wno-unused-parameter -g0
	-fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-stack-protector
	-ffile-prefix-map="$PWD"=. -fno-ident)
# No shrink-wrapping: the frame is set up by the first instruction, never later.
library=(-fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -fno-shrink-wrap)
# arm64 pages may be 64 KiB; without RELRO the files need no padding to that size.
link=(-Wl,--build-id=none -Wl,--hash-style=gnu -Wl,-z,noseparate-code -Wl,-z,norelro)

build_libs() { # compiler, strip, directory, entry flags of libcudart, of libcuda
	local cc=$1 strip=$2 out=$3 rt=$4 drv=$5
	mkdir -p "$out"
	# shellcheck disable=SC2086 # flags are words
	"$cc" "${common[@]}" "${library[@]}" $drv "${link[@]}" -Wl,-soname,libcuda.so.1 \
		-o "$out/libcuda.so.1" stub/cuda.c stub/behave.c
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" "${library[@]}" $rt "${link[@]}" -Wl,-soname,libcudart.so.12 \
		-Wl,--enable-new-dtags,-rpath,'$ORIGIN' \
		-o "$out/libcudart.so.12" stub/cudart.c -L"$out" -l:libcuda.so.1
	"$strip" --strip-debug "$out"/lib*.so.*
	chmod 755 "$out"/lib*.so.*
}

# libnccl is not among build_libs: how its functions begin is tested with the others.
build_ranks() { # compiler, strip, directory with lib/ in it, extra flags
	local cc=$1 strip=$2 out=$3 extra=$4
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" "${library[@]}" $extra "${link[@]}" -Wl,-soname,libnccl.so.2 \
		-Wl,--enable-new-dtags,-rpath,'$ORIGIN' -pthread \
		-o "$out/lib/libnccl.so.2" stub/nccl.c -L"$out/lib" -l:libcuda.so.1
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" -Os $extra "${link[@]}" -Wl,--enable-new-dtags,-rpath,'$ORIGIN/lib' -pthread \
		-o "$out/victim-ranks" victim/ranks.c victim/late.c victim/cgroup.c victim/exercise.c victim/clock.c -L"$out/lib" -l:libcudart.so.12 -l:libcuda.so.1
	"$strip" --strip-debug "$out/lib/libnccl.so.2" "$out/victim-ranks"
	chmod 755 "$out/lib/libnccl.so.2" "$out/victim-ranks"
}

# In a folder of its own, so that programs that are started with the others have none.
build_nvml() { # compiler, strip, directory, extra flags
	local cc=$1 strip=$2 out=$3 extra=$4
	mkdir -p "$out"
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" "${library[@]}" $extra "${link[@]}" -Wl,-soname,libnvidia-ml.so.1 \
		-o "$out/libnvidia-ml.so.1" stub/nvml.c stub/nvml_readings.c
	"$strip" --strip-debug "$out/libnvidia-ml.so.1"
	chmod 755 "$out/libnvidia-ml.so.1"
}

build_programs() { # compiler, strip, directory with lib/ in it, extra flags
	local cc=$1 strip=$2 out=$3 extra=$4
	local rpath=(-Wl,--enable-new-dtags,-rpath,'$ORIGIN/lib' -pthread)
	local serve=(victim/main.c victim/serve.c victim/calls.c victim/incall.c victim/hang.c victim/ops.c victim/clock.c victim/kernel.c victim/kernels.c)
	local loop=(victim/options.c victim/loop.c victim/step.c victim/phases.c victim/made.c victim/truth.c victim/faults.c victim/children.c
		victim/threads.c victim/hog.c victim/lock.c victim/worker.c victim/peer.c victim/loader.c
		victim/coldfile.c victim/memory.c victim/cgroup.c victim/throttle.c victim/gpu.c victim/copies.c
		victim/alloc.c victim/graphs.c)
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" -Os $extra "${link[@]}" "${rpath[@]}" -o "$out/victim" "${serve[@]}" "${loop[@]}" \
		-L"$out/lib" -l:libcudart.so.12 -l:libcuda.so.1
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" -Os -DVICTIM_LATE $extra "${link[@]}" "${rpath[@]}" -o "$out/victim-late" "${serve[@]}" victim/pauses.c
	"$strip" --strip-debug "$out/victim" "$out/victim-late"
	chmod 755 "$out/victim" "$out/victim-late"
}

# Programs that carry a copy of the runtime, as those linked to libcudart_static.a
# do: its functions are local symbols, or none once stripped.
build_embedded() { # compiler, archiver, strip, directory with lib/ in it, output directory, extra flags
	local cc=$1 ar=$2 strip=$3 libs=$4/lib out=$5 extra=$6 work
	local serve=(victim/serve.c victim/calls.c victim/incall.c victim/hang.c victim/ops.c victim/clock.c victim/kernel.c victim/kernels.c)
	work=$(mktemp -d)
	mkdir -p "$out"
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" -fPIC -fvisibility=hidden -fno-shrink-wrap $extra -c -o "$work/cudart.o" stub/cudart.c
	"$cc" "${common[@]}" -fPIC -c -o "$work/runtime.o" stub/embedded.c
	"$ar" rcD "$work/libcudart_static.a" "$work/cudart.o" "$work/runtime.o"
	local runtime=(-Wl,--whole-archive "$work/libcudart_static.a" -Wl,--no-whole-archive -Wl,--exclude-libs,ALL -L"$libs" -l:libcuda.so.1 -pthread)
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" -Os $extra "${link[@]}" -o "$out/victim-static" victim/main.c -DVICTIM_SERVE "${serve[@]}" \
		stub/device.c "${runtime[@]}"
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" -Os -fPIC -shared -DVICTIM_SERVE -Dmain=engine_main $extra "${link[@]}" -Wl,-soname,libengine.so -o "$out/libengine.so" \
		victim/main.c "${serve[@]}" "${runtime[@]}"
	# shellcheck disable=SC2086
	"$cc" "${common[@]}" -Os $extra "${link[@]}" -Wl,--enable-new-dtags,-rpath,'$ORIGIN' -o "$out/victim-engine" \
		victim/engine.c -L"$out" -lengine -Wl,--allow-shlib-undefined
	"$strip" --strip-all -o "$out/victim-stripped" "$out/victim-static"
	"$strip" --strip-debug "$out/victim-static" "$out/victim-engine" "$out/libengine.so"
	chmod 755 "$out"/*
	rm -r "$work"
}

build_amd64() {
	local cc=gcc strip=strip out=prebuilt/linux_amd64 variants=variants/prebuilt/linux_amd64
	local plain=-fcf-protection=none
	build_libs $cc $strip $out/lib "$plain" "$plain"
	build_programs $cc $strip $out "$plain"
	build_ranks $cc $strip $out "$plain"
	build_nvml $cc $strip $out/nvml "$plain"
	build_embedded $cc ar $strip $out embedded/prebuilt/linux_amd64 "$plain"
	build_libs $cc $strip $variants/endbr64 -fcf-protection=branch -fcf-protection=branch
	build_libs $cc $strip $variants/subrsp "$plain -DENTRY_SUBRSP" "$plain -DENTRY_SUBRSP"
	build_libs $cc $strip $variants/nop5 "$plain -DENTRY_NOP5" "$plain -DENTRY_NOP5"
	build_libs $cc $strip $variants/nops "$plain -DENTRY_NOPS" "$plain -DENTRY_NOPS"
	build_libs $cc $strip $variants/nvcuda "$plain" "$plain -DENTRY_NVCUDA"
}

build_arm64() {
	local cc=aarch64-linux-gnu-gcc strip=aarch64-linux-gnu-strip
	local out=prebuilt/linux_arm64 variants=variants/prebuilt/linux_arm64
	local plain=-mbranch-protection=none
	build_libs $cc $strip $out/lib "$plain -DENTRY_STP" "$plain -DENTRY_STP"
	build_programs $cc $strip $out "$plain"
	build_ranks $cc $strip $out "$plain -DENTRY_STP"
	build_nvml $cc $strip $out/nvml "$plain"
	build_embedded $cc aarch64-linux-gnu-ar $strip $out embedded/prebuilt/linux_arm64 "$plain -DENTRY_STP"
	local bti="-mbranch-protection=bti -DENTRY_BTI"
	build_libs $cc $strip $variants/bti "$bti" "$bti"
}

[ $# -gt 0 ] || set -- amd64 arm64
for arch in "$@"; do
	"build_$arch"
done
