#!/usr/bin/env bash
# What "make bench-fleet" runs: ingero-fleet serve and the collector under the load of many nodes. It prints each command.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

http=127.0.0.1:14318
grpc=127.0.0.1:14317
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export INGERO_FLEET_HTTP=$http INGERO_FLEET_GRPC=$grpc INGERO_FLEET_API=127.0.0.1:14080 INGERO_FLEET_FILE=$dir/metrics.json
export INGERO_FLEET_HEALTH=127.0.0.1:14133 INGERO_FLEET_PROMETHEUS=127.0.0.1:14889 INGERO_FLEET_METRICS_PORT=14888
serve=(bin/ingero-fleet serve --listen "$http" --grpc "$grpc")
collector=(bin/ingero-fleet-collector --config collector/config/ingero-fleet.yaml)

load() { # flags of load, --, server
	printf '$ ingero-fleet load %s\n' "$*"
	bin/ingero-fleet load "$@" 2>"$dir/said" || {
		cat "$dir/said" >&2
		return 1
	}
	echo
}

seconds=${1:-20}
# As agents push: every two seconds.
load --nodes 10000 --for "${seconds}s" -- "${serve[@]}"
load --nodes 10000 --for "${seconds}s" -- "${collector[@]}"
# As fast as they are answered.
load --nodes 10000 --every 0 --for "${seconds}s" -- "${serve[@]}"
load --nodes 10000 --every 0 --for "${seconds}s" -- "${collector[@]}"
load --nodes 10000 --every 0 --for "${seconds}s" --to "grpc://$grpc" -- "${serve[@]}"
load --nodes 10000 --every 0 --for "${seconds}s" --to "grpc://$grpc" -- "${collector[@]}"
# All that one machine takes at once, and a connection for each node, as agents have.
load --nodes 100000 --every 20s --for "${seconds}s" -- "${serve[@]}"
load --nodes 10000 --connections 10000 --for "${seconds}s" -- "${serve[@]}"
