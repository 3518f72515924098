#!/usr/bin/env bash
# What "make bench-echo" runs after the benchmarks of the stores: ingero-echo serve under the load of many nodes, and
# a collector that only writes to a file beside it. It prints each command. LARGE is a number of points, spread over a
# day, of which questions are asked; SOAK a time with half of the points a second that were taken, while two dashboards
# ask about the last minute, every five seconds. Old rows are deleted from 1 GiB on, so that the file does not grow for
# long: its size costs memory, too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

dir=$(mktemp -d "${TMPDIR:-/tmp}/bench-echo-XXXXXX")
trap 'rm -rf "$dir"' EXIT
grpc=127.0.0.1:14317
serve=(bin/ingero-echo serve --db-path "$dir/echo.db" --otlp-addr "$grpc" --otlp-http-addr= --mcp-addr 127.0.0.1:18081
	--health-addr=)
collector=(bin/ingero-fleet-collector --config echo/load/otlp-to-file.yaml)
engine=$PWD/.cache/chdb/libchdb.so # make echo-clickhouse-engine
export INGERO_ECHO_LOAD_FILE=$dir/points.json

load() { # flags of load, --, server
	printf '$ ingero-echo load %s\n' "${*//$dir/DIR}"
	bin/ingero-echo load "$@" 2>"$dir/said" >"$dir/result" || {
		cat "$dir/said" >&2
		return 1
	}
	cat "$dir/result"
}

disk() { # file or folder: bytes a point of the last load
	local points
	points=$(sed -n 's/^points *\([0-9]*\):.*/\1/p' "$dir/result")
	awk -v bytes="$(du -sb "$1" | cut -f 1)" -v points="$points" \
		'BEGIN { printf "disk          %.1f bytes a point\n\n", bytes / points }'
	rm -rf "$1"*
}

target() { # what, number, >= or <=, limit
	awk -v what="$1" -v n="$2" -v op="$3" -v limit="$4" 'BEGIN {
		met = op == ">=" ? n >= limit : n <= limit
		printf "target        %s: %s, %s %s: %s\n", what, n, op, limit, met ? "met" : "MISSED"
	}'
}

failed() { # nothing may fail, at any speed
	local n
	n=$(sed -n 's/^points .*room, \([0-9]*\) failed.*/\1/p' "$dir/result")
	if [ "$n" != 0 ]; then
		echo "$n requests failed" >&2
		exit 1
	fi
}

seconds=${1:-20}
load --to "$grpc" --for "${seconds}s" -- "${serve[@]}"
failed
taken=$(sed -n 's/^points .*: \([0-9]*\) a second.*/\1/p' "$dir/result")
target "points a second" "$taken" ">=" 300000
target "MB at most" "$(sed -n 's/^memory .* \([0-9]*\) MB at most.*/\1/p' "$dir/result")" "<=" 512
size=$(disk "$dir/echo.db")
target "bytes a point" "$(sed -n 's/^disk *\([0-9.]*\) .*/\1/p' <<<"$size")" "<=" 25
printf '%s\n\n' "$size"
load --to "$grpc" --for "${seconds}s" --every 0 -- "${serve[@]}"
disk "$dir/echo.db"
load --to "$grpc" --for "${seconds}s" --readers 0 -- "${serve[@]}"
disk "$dir/echo.db"
load --to "$grpc" --for "${seconds}s" --readers 0 -- "${collector[@]}"
disk "$INGERO_ECHO_LOAD_FILE"
if [ -e "$engine" ]; then # ClickHouse's engine behind a stand-in for its server
	CGO_ENABLED=0 go -C echo build -o "$dir/chserver" ./store/clickhouse/clickhousetest/chserver
	mkdir "$dir/tables"
	"$dir/chserver" -lib "$engine" -path "$dir/tables" -addr 127.0.0.1:18123 -native 127.0.0.1:19000 \
		-password secret >"$dir/server" &
	server=$!
	trap 'kill "$server" || true; wait "$server" || true; rm -rf "$dir"' EXIT
	until [ -s "$dir/server" ]; do
		kill -0 "$server" # it has ended otherwise, and said why
		sleep 0.1
	done
	load --to "$grpc" --for "${seconds}s" -- bin/ingero-echo serve --store "http://default:secret@127.0.0.1:18123/bench" \
		"${serve[@]:4}"
	failed
	kill "$server"
	wait "$server" || true # it was ended
	trap 'rm -rf "$dir"' EXIT
	disk "$dir/tables"
fi
if [ -n "${LARGE:-}" ]; then
	load --to "$grpc" --for 1h --points "$LARGE" --over 24h --readers 2 --then 60s -- "${serve[@]}"
	disk "$dir/echo.db"
fi
if [ -n "${SOAK:-}" ]; then
	load --to "$grpc" --for "$SOAK" --rate "$((taken / 2))" --every 5s --window 1m -- "${serve[@]}" --keep-gib 1
	failed
	disk "$dir/echo.db"
fi
