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
