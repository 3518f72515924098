# What the scripts beside it share.

check() { # what should be, command that shows it
	local what=$1
	shift
	if "$@" >/tmp/said 2>&1; then
		passed=$((passed + 1))
		echo "ok: $what"
	else
		failed="$failed${failed:+,}\"$what\""
		echo "FAILED: $what: $*"
		sed 's/^/    /' /tmp/said
	fi
}
not() { ! "$@"; }
says() { # text, file
	grep -qF -e "$1" "$2" || { cat "$2"; return 1; }
}
soon() { # command: within two minutes
	local last=$((SECONDS + 120))
	until "$@"; do
		if [ $SECONDS -gt $last ]; then
			systemctl status --no-pager -l ingero 2>&1 | tail -n 20
			return 1
		fi
		sleep 1
	done
}
equal() { [ "$1" = "$2" ] || { echo "$1 is not $2"; return 1; }; }
timed() { # what, file for what it says, command: says how long it took on this machine, which is emulated
	local what=$1 said=$2 began=$SECONDS code=0
	shift 2
	"$@" >"$said" 2>&1 || code=$?
	echo "took $((SECONDS - began)) s: $what"
	return $code
}

stat_of() { systemctl show -p "$1" --value ingero; }
status_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$(stat_of MainPID)/status"; }
count() { # recording, if it is another than the service's: how many calls are in it
	ingero query --format json ${1:+"$1"} 'select count(*) as n from cuda_events' | sed -n 's/.*"n":\([0-9]*\).*/\1/p'
}
calls() { # number, recording: it has more calls
	[ "$(count "${2:-}")" -gt "$1" ] 2>/dev/null
}
trains() { # the stand-in, as a user of its own, for some seconds
	runuser -u nobody -- env LD_LIBRARY_PATH=/stand-in/lib /stand-in/victim loop --seconds 5 >/tmp/victim 2>&1
}
trained() { grep -q '"steps":[1-9]' /tmp/victim || { cat /tmp/victim; return 1; }; }

# What others change by themselves: copies of the lists of users, what dpkg, apt, rpm and systemd keep.
others='/etc/(passwd|shadow|group|gshadow)-|/etc/\.pwd\.lock|/var/lib/dpkg/(available|status)(-old)?|/root/\.rpmdb(/.*)?'
others="$others|/var/(backups|cache|lib/apt)/.*|/var/lib/systemd/(random-seed|timers(/.*)?)"

everything() { # the names of all files of the system
	find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/tmp -o -path /var/log \) -prune -o -print |
		grep -vxE "$others" | sort
}
left() { # file with what was there before, names that may be left: nothing else is
	everything | comm -13 "$1" - | grep -vxE "${2:-nothing}" >/tmp/left
	cat /tmp/left
	[ ! -s /tmp/left ]
}
