# Echo's deb, to which the tracer sends: an earlier version is installed and used, upgraded to this one, removed and
# purged.

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
pid_of_echo() { systemctl show -p MainPID --value ingero-echo; }
everything >/tmp/before-echo

# Install, and use.
timed "installing Echo's deb of an earlier version" /tmp/installed dpkg -i /packages/old/ingero-echo_0.deb
check "Echo installs" dpkg -s ingero-echo
check "Echo says what is next" says "systemctl enable --now ingero-echo" /tmp/installed
check "Echo does not start by itself" not systemctl is-active -q ingero-echo
echo 'INGERO_ECHO_TOKEN=0123456789abcdef' >>/etc/ingero/echo.env
check "Echo's token is not for everybody" equal "$(stat -c '%U:%G %a' /etc/ingero/echo.env)" "root:ingero-echo 640"
systemctl enable --now ingero-echo 2>/dev/null
check "Echo starts" soon systemctl is-active -q ingero-echo
check "Echo is ready" soon ready
check "Echo runs as a user of its own" equal "$(ps -o user= -p "$(pid_of_echo)")" ingero-echo
cp -p /etc/ingero/trace.env /tmp/trace.env
cat >>/etc/ingero/trace.env <<'END'
INGERO_TRACE_FLAGS=--otlp=grpc://127.0.0.1:4317
OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%200123456789abcdef
END
systemctl restart ingero
check "the tracer sends to Echo" soon systemctl is-active -q ingero
trains
check "Echo has what the tracer sent" soon kept

# Upgrade.
pid=$(pid_of_echo)
timed "upgrading Echo's deb" /tmp/upgraded dpkg -i ingero-echo_*_amd64.deb
check "Echo upgrades" equal "$(dpkg-query -W -f '${Version}' ingero-echo)" "$NEW_VERSION"
check "Echo goes on" soon ready
check "as another process" not equal "$pid" "$(pid_of_echo)"
check "nobody is asked to start it again" not says "next:" /tmp/upgraded
check "its token is kept, and what the tracer sent" soon kept
cp -p /tmp/trace.env /etc/ingero/trace.env
systemctl restart ingero

# Remove.
timed "removing Echo's deb" /tmp/removed dpkg -r ingero-echo
check "Echo is removed" not test -e /usr/bin/ingero-echo
check "nothing of Echo runs" not pgrep -x ingero-echo
check "what Echo kept stays" test -s /var/lib/ingero-echo/echo.db
timed "purging Echo's deb" /tmp/purged dpkg -P ingero-echo
check "purge names what Echo kept" says "rm -r /var/lib/ingero-echo" /tmp/purged
check "Echo's user is gone" not getent passwd ingero-echo
check "nothing else of Echo is left" left /tmp/before-echo '/var/lib/ingero-echo(/.*)?|/var/lib/ingero/.*'
rm -rf /var/lib/ingero-echo /packages/*/ingero-echo_*
