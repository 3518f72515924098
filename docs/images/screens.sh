#!/usr/bin/env bash
# Draws the pictures of docs/terminal.md again: the view of "ingero trace" in xterm, while
# it traces the stand-in program. As root, with xvfb, xterm, tmux and imagemagick:
#   make build && docs/images/screens.sh
# The program has a real-time priority, so that other programs of the machine are in no picture.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
stub=$PWD/internal/cudastub/prebuilt/linux_amd64 out=$PWD/docs/images ingero=$PWD/bin/ingero
work=$(mktemp -d /var/tmp/job.XXX)
screen="tmux -u -S $work/tmux"
pids=()
trap '$screen kill-server 2>/dev/null || true; kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT

LD_LIBRARY_PATH=$stub/lib chrt --fifo 1 "$stub/victim" loop --seconds 90 --fault lock-io --also leak --name trainer --dir "$work" >/dev/null &
pids+=($!)
"$ingero" dashboard investigations/noisy-neighbour.db --http 127.0.0.1:18081 --no-tls 2>/dev/null &
pids+=($!)
printf 'node: gpu-node-07\nfleet: {nodes: ["127.0.0.1:18081", "127.0.0.1:18082"], no_tls: true}\n' >"$work/ingero.yaml"

Xvfb :97 -screen 0 800x600x24 >/dev/null 2>&1 &
pids+=($!)
export DISPLAY=:97 LC_ALL=C.UTF-8
for _ in $(seq 50); do xdpyinfo >/dev/null 2>&1 && break; sleep 0.1; done
printf 'set -g status off\nset -g default-terminal tmux-256color\nset -ga terminal-features ",xterm-256color:RGB"\n' >"$work/tmux.conf"
(cd "$work" && $screen -f tmux.conf new-session -d -x 80 -y 24 \
	"COLORTERM=truecolor HOME=$work $ingero trace --pid ${pids[0]} --db run.db --config ingero.yaml; sleep 60")
xterm -tn xterm-256color -geometry 80x24+0+0 -b 6 -bg '#111418' -fg '#d8dee9' -fa 'DejaVu Sans Mono' -fs 10 -e $screen attach &
pids+=($!)
sleep 12

shoot() { # name, keys
	name=$1
	shift
	$screen send-keys "$@"
	sleep 2
	import -window "$(xwininfo -root -tree | awk '/xterm/ {print $1; exit}')" -strip -colors 64 "png8:$out/$name.png"
}
shoot terminal-calls 1
shoot terminal-ledger 2
shoot terminal-findings 3
shoot terminal-finding Enter
shoot terminal-memory 4
shoot terminal-nodes 5
$screen send-keys q
ls -l "$out"
