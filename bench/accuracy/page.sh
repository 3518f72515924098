#!/usr/bin/env bash
# Replaces what is between the markers of a page by what "ingero bench diagnosis"
# prints for each seed: page.sh PAGE SEED…. INGERO names another program,
# ACCURACY_ARGS gives it more flags (--quick).
set -euo pipefail
page=$1
shift
ingero=${INGERO:-bin/ingero}
read -ra more <<<"${ACCURACY_ARGS:-}"
begin='<!-- begin: make accuracy -->'
end='<!-- end: make accuracy -->'
for marker in "$begin" "$end"; do
	grep -qxF -- "$marker" "$page" || { echo "$page has no line $marker" >&2; exit 1; }
done
printed=$(mktemp)
trap 'rm -f "$printed" "$printed.page"' EXIT
for seed in "$@"; do
	args=(bench diagnosis --seed "$seed" "${more[@]}" --baseline cooccurrence)
	printf '\n```\n$ ingero %s\n' "${args[*]}"
	"$ingero" "${args[@]}"
	printf '```\n'
done >"$printed"
echo >>"$printed"
# All runs went well: only now the page changes.
awk -v begin="$begin" -v end="$end" -v printed="$printed" '
	$0 == end { skip = 0 }
	!skip { print }
	$0 == begin { skip = 1; while ((getline line < printed) > 0) print line }
' "$page" >"$printed.page"
cat "$printed.page" >"$page"
