#!/bin/sh
# Installs Ingero on this machine, from a release: its programs, and nothing else.
#
#   sh install.sh                          the newest release
#   sh install.sh --version 0.20.0         another one
#   sh install.sh --from ./dist            a folder or another server that has a release's files
#   sh install.sh --dry-run                only say what would be done
#
# It needs a POSIX shell, tar, gzip, and sha256sum or shasum; for a server curl or wget.
set -eu

releases=https://github.com/ingero-io/ingero/releases
version=latest
from=
to=
key=
dry_run=
all=

usage() {
	cat <<'END'
Installs Ingero from a release.

Usage:
  sh install.sh [options]

Options:
  --version VERSION  the release to install (default: the newest)
  --from PLACE       a folder, or a URL, with a release's files (default: the project's releases)
  --to FOLDER        where programs go (default: /usr/local/bin as root, else ~/.local/bin)
  --all              also ingero-fleet and straggler-sink, of which a cluster needs one or a few
  --key FILE         refuse a release that is not signed with this public key (PEM; needs openssl)
  --dry-run          say what would be done, and change nothing
  -h, --help         print this

A program that is there already is replaced in one step; one that runs goes on as it is.
END
}

fail() {
	printf 'install.sh: %s\n' "$1" >&2
	shift
	for line; do
		printf '  %s\n' "$line" >&2
	done
	exit 1
}

value() { # option, how many arguments are left
	[ "$2" -ge 2 ] || fail "$1 needs a value" "sh install.sh --help"
}

while [ $# -gt 0 ]; do
	case $1 in
	--version | --from | --to | --key)
		value "$1" $#
		case $1 in
		--version) version=${2#v} ;;
		--from) from=$2 ;;
		--to) to=$2 ;;
		--key) key=$2 ;;
		esac
		shift 2
		;;
	--version=*) version=${1#*=} version=${version#v} && shift ;;
	--from=*) from=${1#*=} && shift ;;
	--to=*) to=${1#*=} && shift ;;
	--key=*) key=${1#*=} && shift ;;
	--all) all=yes && shift ;;
	--dry-run) dry_run=yes && shift ;;
	-h | --help) usage && exit 0 ;;
	*) fail "there is no option $1" "sh install.sh --help" ;;
	esac
done

has() {
	command -v "$1" >/dev/null 2>&1
}

[ "$(uname -s)" = Linux ] || fail "Ingero runs on Linux only; this is $(uname -s)" \
	"on other systems, its recordings can be read on a Linux machine or in a container"

case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there are releases for x86_64 and arm64 only; this is $(uname -m)" ;;
esac

for tool in tar gzip mktemp; do
	has $tool || fail "$tool is needed, and is not here"
done
if has sha256sum; then
	sum() { sha256sum "$1" | cut -d ' ' -f 1; }
elif has shasum; then
	sum() { shasum -a 256 "$1" | cut -d ' ' -f 1; }
else
	fail "sha256sum or shasum is needed to check what was fetched, and is not here"
fi

if [ -z "$from" ]; then
	if [ "$version" = latest ]; then
		from=$releases/latest/download
	else
		from=$releases/download/v$version
	fi
fi
case $from in
http://* | https://*)
	from=${from%/}
	if has curl; then
		# What is asked for over https does not come over http.
		case $from in https:*) only="--proto =https" ;; *) only= ;; esac
		# shellcheck disable=SC2086 # two words
		get() { curl -fsSL $only --retry 2 --connect-timeout 20 -o "$2" "$1"; }
	elif has wget; then
		get() { wget -q -O "$2" "$1"; } # -T crashes in BusyBox 1.35
	else
		fail "curl or wget is needed to fetch from $from, and neither is here" \
			"or fetch the files in another way: sh install.sh --from FOLDER"
	fi
	;;
*)
	[ -d "$from" ] || fail "there is no folder $from"
	get() { [ -f "$1" ] && cp "$1" "$2"; }
	;;
esac

if [ -z "$to" ]; then
	if [ "$(id -u)" = 0 ]; then
		to=/usr/local/bin
	else
		[ -n "${HOME:-}" ] || fail "\$HOME is not set: where should it go?" "sh install.sh --to FOLDER"
		to=$HOME/.local/bin
	fi
fi
case $to in
/) ;;
/*) to=${to%/} ;;
*) to=$PWD/${to#./} to=${to%/} ;; # what undoes it works from elsewhere, too
esac
# shellcheck disable=SC1003 # it is a backslash
case $to in
*\'* | *\"* | *'$'* | *'`'* | *'\'* | *'
'*) fail "the name of the folder $to has a quote, \$, \` or \\, or several lines" "sh install.sh --to ANOTHER" ;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/ingero-install.XXXXXX")
new=
trap 'rm -rf "$work"; for program in $new; do rm -f "$to/.$program.$$"; done' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fetch() { # file
	get "$from/$1" "$work/$1" || fail "$1 could not be fetched from $from" \
		"without a network: fetch a release elsewhere, then sh install.sh --from FOLDER"
}

fetch checksums.txt

# Who made it.
if [ -n "$key" ]; then
	[ -f "$key" ] || fail "there is no key $key"
	has openssl || fail "openssl is needed for --key, and is not here"
	fetch checksums.txt.sig
	# The signature may be base64, as cosign writes it, or plain.
	if openssl base64 -d -A -in "$work/checksums.txt.sig" -out "$work/sig" 2>/dev/null && [ -s "$work/sig" ]; then
		:
	else
		cp "$work/checksums.txt.sig" "$work/sig"
	fi
	openssl dgst -sha256 -verify "$key" -signature "$work/sig" "$work/checksums.txt" >/dev/null 2>&1 ||
		fail "checksums.txt is not signed with $key: nothing was installed"
	signed="the signature of $key is right"
elif get "$from/checksums.txt.sig" "$work/checksums.txt.sig" 2>/dev/null; then
	signed="there is a signature, which was not checked: sh install.sh --key FILE, with the public key of who released it"
else
	signed="there is no signature"
fi

# What it is called.
name=
while read -r hash file; do
	file=${file#\*}
	case $file in
	ingero_*_linux_"$arch".tar.gz)
		found=${file#ingero_}
		found=${found%_linux_"$arch".tar.gz}
		if [ "$version" = latest ] || [ "$version" = "$found" ]; then
			[ -z "$name" ] || fail "$from has several releases for $arch" "say which one: --version $found"
			name=$file want=$hash is=$found
		fi
		;;
	esac
done <"$work/checksums.txt"
if [ -z "$name" ]; then
	[ "$version" != latest ] || fail "$from has no release for $arch"
	fail "$from has no release $version for $arch"
fi

fetch "$name"
got=$(sum "$work/$name")
[ "$got" = "$want" ] || fail "$name is not what was released: nothing was installed" \
	"its SHA-256 should be $want" "and is             $got"

programs=ingero
[ -z "$all" ] || programs="ingero ingero-fleet straggler-sink"
(cd "$work" && gzip -dc "$name" | tar xf -) || fail "$name cannot be unpacked"
for program in $programs; do
	[ -f "$work/$program" ] || fail "$name has no $program: nothing was installed"
done

undo=
say=
[ -z "$dry_run" ] || say="would be "
if [ -z "$dry_run" ]; then
	mkdir -p "$to" 2>/dev/null || fail "$to cannot be made" "as root: sudo sh install.sh" \
		"or elsewhere: sh install.sh --to FOLDER"
	[ -w "$to" ] || fail "$to may not be written to" "as root: sudo sh install.sh" \
		"or elsewhere: sh install.sh --to FOLDER"
fi
# All are tried before the first one is replaced.
for program in $programs; do
	if [ -n "$dry_run" ]; then
		continue
	fi
	[ ! -d "$to/$program" ] || fail "$to/$program is a folder"
	new="$new $program"
	cp "$work/$program" "$to/.$program.$$" || fail "$to/$program could not be written"
	chmod 755 "$to/.$program.$$"
	# A program that cannot run here does not replace one that can.
	"$to/.$program.$$" --help >/dev/null 2>"$work/why" ||
		fail "$program $is does not run here: nothing was installed" "$(head -n 1 "$work/why")"
done
for program in $programs; do
	before=
	[ ! -e "$to/$program" ] || before=" (replaced)"
	[ -n "$dry_run" ] || mv -f "$to/.$program.$$" "$to/$program"
	printf '%sinstalled: %s/%s %s%s\n' "$say" "$to" "$program" "$is" "$before"
	undo="$undo '$to/$program'"
done
printf 'checked: SHA-256 of %s; %s\n' "$name" "$signed"
printf 'to undo: rm%s\n' "$undo"

if [ -z "$dry_run" ]; then
	case :$PATH: in
	*:"$to":*) ingero=ingero ;;
	*)
		ingero=$to/ingero
		# shellcheck disable=SC2016 # for the reader's shell
		printf 'to call it by its name: export PATH="%s:$PATH"\n' "$to"
		;;
	esac
	printf 'next: %s check\n' "$ingero"
fi
