#!/bin/bash
# Runs in a Debian with systemd as PID 1, as root: the packages of an older and of this version are installed,
# used, upgraded, removed and purged. Prints a line for each check, and at the end how many passed and failed.
set -u
passed=0
failed=

check() { # what should be, command that shows it
	what=$1
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
	i=0
	while [ $i -lt 120 ]; do
		"$@" && return 0
		sleep 1
		i=$((i + 1))
	done
	systemctl status --no-pager -l ingero 2>&1 | tail -n 20
	return 1
}
stat_of() { systemctl show -p "$1" --value ingero; }
status_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$(stat_of MainPID)/status"; }
equal() { [ "$1" = "$2" ] || { echo "$1 is not $2"; return 1; }; }
calls() { # at least one call of the stand-in is in the recording
	[ "$(ingero query --format json 'select count(*) as n from cuda_events' | sed -n 's/.*"n":\([0-9]*\).*/\1/p')" -gt "$1" ] 2>/dev/null
}
trains() { # the stand-in, as a user of its own, for some seconds
	runuser -u nobody -- env LD_LIBRARY_PATH=/stand-in/lib /stand-in/victim "$@" >/tmp/victim 2>&1
}

# Install.
dpkg -i /packages/old/ingero_*.deb >/tmp/installed 2>&1
check "it installs" dpkg -s ingero
check "it says what is next" says "systemctl enable --now ingero" /tmp/installed
check "it starts nothing by itself" not systemctl is-active -q ingero
check "its user is there" getent passwd ingero
check "tokens are not for everybody" equal "$(stat -c '%U:%G %a' /etc/ingero/trace.env)" "root:ingero 640"
check "its manual is there" test -s /usr/share/man/man1/ingero-trace.1.gz
check "completions are there" test -s /usr/share/bash-completion/completions/ingero
old=$(ingero version | head -n 1)

# Use.
systemctl enable --now ingero 2>/tmp/enabled
check "the service starts" systemctl is-active -q ingero
check "it says what it does" soon sh -c 'systemctl show -p StatusText --value ingero | grep -q calls'
check "it runs as a user of its own" equal "$(ps -o user= -p "$(stat_of MainPID)")" ingero
# CAP_DAC_READ_SEARCH is bit 2, CAP_SYS_PTRACE 19, CAP_PERFMON 38, CAP_BPF 39.
check "it has the capabilities that it needs, no more" equal "$(status_of CapEff)" 000000c000080004
check "it can get no others" equal "$(status_of CapBnd)" 000000c000080004
check "it can get no privileges" equal "$(status_of NoNewPrivs)" 1
check "its system calls are filtered" equal "$(status_of Seccomp)" 2
trains loop --seconds 5
check "the stand-in ran" says "" /tmp/victim
check "its calls are recorded" soon calls 0
check "explain answers without a file's name" ingero explain --since all
check "recordings are for the group" equal "$(stat -c '%U:%G %a' /var/lib/ingero/ingero.db)" "ingero:ingero 640"

# It hangs: systemd starts it again.
mkdir -p /run/systemd/system/ingero.service.d
printf '[Service]\nWatchdogSec=5\n' >/run/systemd/system/ingero.service.d/test.conf
systemctl daemon-reload
systemctl restart ingero
check "it restarts" soon systemctl is-active -q ingero
pid=$(stat_of MainPID)
kill -STOP "$pid"
check "one that hangs is started again" soon sh -c '
	now=$(systemctl show -p MainPID --value ingero); [ "$now" != 0 ] && [ "$now" != '"$pid"' ] && systemctl is-active -q ingero'
rm -r /run/systemd/system/ingero.service.d
systemctl daemon-reload

# For other nodes.
systemctl start ingero-node-api
check "the node's API starts" soon systemctl is-active -q ingero-node-api
check "it answers" soon ingero query --nodes 127.0.0.1:8080 --ca-cert /var/lib/ingero-node-api/.ingero/node-cert.pem \
	"select count(*) from cuda_events"

# Upgrade.
echo '# kept' >>/etc/ingero/trace.env
before=$(ingero query --format json 'select count(*) as n from cuda_events')
dpkg -i --force-confdef --force-confold /packages/new/ingero_*.deb >/tmp/upgraded 2>&1
check "it upgrades" sh -c '[ "$(dpkg-query -W -f "\${Version}" ingero)" = "'"$NEW_VERSION"'" ]'
check "there is another program" not equal "$old" "$(ingero version | head -n 1)"
check "the service goes on" soon systemctl is-active -q ingero
check "with the new program" sh -c 'cmp /proc/'"$(stat_of MainPID)"'/exe /usr/bin/ingero'
check "configuration is kept" says "# kept" /etc/ingero/trace.env
check "nobody is asked to start it again" not says "next:" /tmp/upgraded
trains loop --seconds 5
check "recording goes on in the same file" soon calls "$(echo "$before" | sed 's/[^0-9]//g')"

# Echo, to which the tracer sends.
answer() { # method, path, port, body
	exec 3<>"/dev/tcp/127.0.0.1/$3" || return 1
	printf '%s %s HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer 0123456789abcdef\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s' \
		"$1" "$2" "${#4}" "$4" >&3
	cat <&3
	exec 3>&-
}
kept() { # at least one row of the tracer is there
	answer POST /api/v1/sql 8081 "{\"sql\":\"select 'rows', count(*) from events where metric_name like 'ingero.%'\"}" >/tmp/answer
	grep -q '"rows",[1-9]' /tmp/answer
}
ready() { answer GET /readyz 8082 "" | grep -q "^HTTP/1.0 200"; }
dpkg -i /packages/new/ingero-echo_*.deb >/tmp/echo 2>&1
check "Echo installs" dpkg -s ingero-echo
check "Echo says what is next" says "systemctl enable --now ingero-echo" /tmp/echo
check "Echo does not start by itself" not systemctl is-active -q ingero-echo
echo 'INGERO_ECHO_TOKEN=0123456789abcdef' >>/etc/ingero/echo.env
check "Echo's token is not for everybody" equal "$(stat -c '%U:%G %a' /etc/ingero/echo.env)" "root:ingero-echo 640"
systemctl enable --now ingero-echo 2>/dev/null
check "Echo starts" soon systemctl is-active -q ingero-echo
check "Echo is ready" soon ready
check "Echo runs as a user of its own" equal "$(ps -o user= -p "$(systemctl show -p MainPID --value ingero-echo)")" ingero-echo
cat >>/etc/ingero/trace.env <<'END'
INGERO_TRACE_FLAGS=--otlp=grpc://127.0.0.1:4317
OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%200123456789abcdef
END
systemctl restart ingero
check "the tracer sends to Echo" soon systemctl is-active -q ingero
trains loop --seconds 5
check "Echo has what the tracer sent" soon kept
dpkg -r ingero-echo >/tmp/echo 2>&1
check "Echo is removed" not test -e /usr/bin/ingero-echo
check "nothing of Echo runs" not pgrep -x ingero-echo
check "what Echo kept stays" test -s /var/lib/ingero-echo/echo.db
dpkg -P ingero-echo >/tmp/echo 2>&1
check "purge names what Echo kept" says "rm -r /var/lib/ingero-echo" /tmp/echo
check "Echo's user is gone" not getent passwd ingero-echo
rm -rf /var/lib/ingero-echo

# Remove.
dpkg -r ingero >/tmp/removed 2>&1
check "it is removed" not test -e /usr/bin/ingero
check "the service has ended" not systemctl is-active -q ingero
check "nothing of it runs" not pgrep -x ingero
check "configuration stays" test -e /etc/ingero/trace.env
check "the recording stays" test -s /var/lib/ingero/ingero.db
dpkg -i /packages/new/ingero_*.deb >/tmp/again 2>&1
check "it installs again" ingero explain --since all
dpkg -P ingero >/tmp/purged 2>&1
check "purge names the recording" says /var/lib/ingero/ingero.db /tmp/purged
check "it is root's" equal "$(stat -c %U:%G /var/lib/ingero/ingero.db)" root:root
check "its user is gone" not getent passwd ingero
find / -xdev \( -path /proc -o -path /sys -o -path /packages -o -path /stand-in -o -path /tmp -o -path /var/lib/ingero \
	-o -path /var/log -o -path /run \) -prune -o -iname '*ingero*' -print >/tmp/left
check "nothing else is left" not test -s /tmp/left
cat /tmp/left

# Without a recording nothing is left at all.
rm -r /var/lib/ingero
dpkg -i /packages/new/ingero_*.deb >/dev/null 2>&1
dpkg -P ingero >/tmp/purged 2>&1
check "without a recording, purge leaves nothing" not test -e /var/lib/ingero
check "and names none" not says Recordings /tmp/purged

echo
echo "vm-result: {\"release\":\"$(uname -r)\",\"steps\":[{\"package\":\"packaging\",\"passed\":$passed,\"failed\":[$failed]}]}"
sync
