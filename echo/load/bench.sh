#!/usr/bin/env bash
# What "make bench-echo" runs after the benchmarks of the stores: ingero-echo serve under the load of many nodes, and
# a collector that only writes to a file beside it. It prints each command. LARGE is a number of points, spread over a
# day, of which questions are asked; SOAK a time with half of the points a second that were taken, while two dashboards
# ask about the last minute, every five seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

dir=$(mktemp -d "${TMPDIR:-/tmp}/bench-echo-XXXXXX")
trap 'rm -rf "$dir"' EXIT
grpc=127.0.0.1:14317
serve=(bin/ingero-echo serve --db-path "$dir/echo.db" --otlp-addr "$grpc" --otlp-http-addr= --mcp-addr 127.0.0.1:18081
	--health-addr=)
collector=(bin/ingero-fleet-collector --config echo/load/otlp-to-file.yaml)
export INGERO_ECHO_LOAD_FILE=$dir/points.json

load() { # flags of load, --, server
	printf '$ ingero-echo load %s\n' "${*//$dir/DIR}"
	bin/ingero-echo load "$@" 2>"$dir/said" >"$dir/result" || {
		cat "$dir/said" >&2
		return 1
	}
	cat "$dir/result"
}

disk() { # file: bytes a point of the last load
	local points
	points=$(sed -n 's/^points *\([0-9]*\):.*/\1/p' "$dir/result")
	awk -v bytes="$(stat -c %s "$1")" -v points="$points" \
		'BEGIN { printf "disk          %.1f bytes a point\n\n", bytes / points }'
	rm -f "$1"*
}

seconds=${1:-20}
load --to "$grpc" --for "${seconds}s" -- "${serve[@]}"
taken=$(sed -n 's/^points .*: \([0-9]*\) a second.*/\1/p' "$dir/result")
disk "$dir/echo.db"
load --to "$grpc" --for "${seconds}s" --every 0 -- "${serve[@]}"
disk "$dir/echo.db"
load --to "$grpc" --for "${seconds}s" --readers 0 -- "${serve[@]}"
disk "$dir/echo.db"
load --to "$grpc" --for "${seconds}s" --readers 0 -- "${collector[@]}"
disk "$INGERO_ECHO_LOAD_FILE"
if [ -n "${LARGE:-}" ]; then
	load --to "$grpc" --for 1h --points "$LARGE" --over 24h --readers 2 --then 60s -- "${serve[@]}"
	disk "$dir/echo.db"
fi
if [ -n "${SOAK:-}" ]; then
	load --to "$grpc" --for "$SOAK" --rate "$((taken / 2))" --every 5s --window 1m -- "${serve[@]}"
	disk "$dir/echo.db"
fi
