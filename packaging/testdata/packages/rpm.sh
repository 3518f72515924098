# The rpms, by Debian's rpm: of each an earlier version is installed and used, upgraded to this one, and removed.

rpm() { command rpm --force-debian "$@"; } # else it says that dpkg should be used
everything >/tmp/before-rpm

# Install.
timed "installing the rpm of an earlier version" /tmp/installed rpm -i /packages/old/ingero-0.rpm
check "it installs" rpm -q ingero
check "it says what is next" says "next: sudo ingero check" /tmp/installed
check "it starts nothing by itself" not systemctl is-active -q ingero
check "its user is there" getent passwd ingero
check "tokens are not for everybody" equal "$(stat -c '%U:%G %a' /etc/ingero/trace.env)" "root:ingero 640"

# Use.
systemctl enable --now ingero 2>/tmp/enabled
check "the service starts" systemctl is-active -q ingero
trains
check "the stand-in ran" trained
check "its calls are recorded" soon calls 0
check "explain answers without a file's name" ingero explain

# Upgrade.
echo '# kept' >>/etc/ingero/trace.env
before=$(count)
pid=$(stat_of MainPID)
timed "upgrading the rpm" /tmp/upgraded rpm -U ingero-[0-9]*.x86_64.rpm
check "it upgrades" equal "$(rpm -q ingero).rpm" "$(echo ingero-[0-9]*.x86_64.rpm)"
check "the service goes on" soon systemctl is-active -q ingero
check "with the new program" not equal "$pid" "$(stat_of MainPID)"
check "it will start with the machine" systemctl is-enabled -q ingero
check "its user stays" getent passwd ingero
check "configuration is kept" says "# kept" /etc/ingero/trace.env
check "nobody is asked to start it again" not says "next:" /tmp/upgraded
trains
check "recording goes on in the same file" soon calls "$before"

# Remove. What rpm keeps of configuration that was changed is rpm's.
timed "removing the rpm" /tmp/removed rpm -e ingero
check "it is removed" not test -e /usr/bin/ingero
check "the service has ended" not systemctl is-active -q ingero
check "nothing of it runs" not pgrep -x ingero
check "it names the recording" says "  /var/lib/ingero/ingero.db" /tmp/removed
check "it is root's" equal "$(stat -c %U:%G /var/lib/ingero/ingero.db)" root:root
check "its user is gone" not getent passwd ingero
check "nothing else is left" left /tmp/before-rpm \
	'/var/lib/ingero(/ingero\.db(-wal|-shm)?)?|/etc/ingero(/trace\.env\.rpmsave)?'

# Without a recording nothing is left at all.
rm -r /var/lib/ingero /etc/ingero
timed "installing the rpm" /tmp/installed rpm -i ingero-[0-9]*.x86_64.rpm
check "it installs again" ingero version
rpm -e ingero >/tmp/removed 2>&1
check "without a recording, nothing is left" left /tmp/before-rpm
check "and none is named" not says "are left" /tmp/removed

# An earlier version had another configuration, which was changed here.
mkdir -p /tmp/rpm
cat >/tmp/rpm/earlier.spec <<'END'
Name: ingero
Version: 0
Release: 1
Summary: configuration alone
License: Apache-2.0
BuildArch: noarch
%description
Configuration alone.
%install
mkdir -p %{buildroot}/etc/ingero
echo '# A line of the earlier version.' >%{buildroot}/etc/ingero/ingero.yaml
%files
%dir /etc/ingero
%config(noreplace) /etc/ingero/ingero.yaml
END
check "an rpm with another configuration is built" \
	rpmbuild -bb --quiet --define '_topdir /tmp/rpm' --define '_buildhost test' /tmp/rpm/earlier.spec
check "it installs" rpm -i /tmp/rpm/RPMS/noarch/ingero-0-1.noarch.rpm
echo 'node: kept' >>/etc/ingero/ingero.yaml
timed "upgrading that rpm" /tmp/upgraded rpm -U ingero-[0-9]*.x86_64.rpm
check "what was changed is kept" says "node: kept" /etc/ingero/ingero.yaml
check "beside what the package has" says "# Configuration of ingero" /etc/ingero/ingero.yaml.rpmnew
mv /etc/ingero/ingero.yaml.rpmnew /etc/ingero/ingero.yaml
rpm -e ingero >/tmp/removed 2>&1
check "nothing of it is left" left /tmp/before-rpm
rm /packages/*/ingero-[0-9]*.rpm

# Echo. What is needed of echo.sh is still known.
point() { # is sent, and kept
	answer POST /v1/metrics 4318 '{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "ingero.made", "gauge":
		{"dataPoints": [{"timeUnixNano": "'"$(date +%s%N)"'", "asDouble": 1}]}}]}]}]}' && soon kept
}
timed "installing Echo's rpm of an earlier version" /tmp/installed rpm -i /packages/old/ingero-echo-0.rpm
check "Echo installs" rpm -q ingero-echo
check "Echo says what is next" says "systemctl enable --now ingero-echo" /tmp/installed
check "Echo does not start by itself" not systemctl is-active -q ingero-echo
echo 'INGERO_ECHO_TOKEN=0123456789abcdef' >>/etc/ingero/echo.env
check "Echo's token is not for everybody" equal "$(stat -c '%U:%G %a' /etc/ingero/echo.env)" "root:ingero-echo 640"
systemctl enable --now ingero-echo 2>/tmp/enabled
check "Echo is ready" soon ready
check "Echo keeps what it is sent" point
pid=$(pid_of_echo)
timed "upgrading Echo's rpm" /tmp/upgraded rpm -U ingero-echo-[0-9]*.x86_64.rpm
check "Echo upgrades" equal "$(rpm -q ingero-echo).rpm" "$(echo ingero-echo-[0-9]*.x86_64.rpm)"
check "Echo goes on" soon ready
check "as another process" not equal "$pid" "$(pid_of_echo)"
check "it will start with the machine" systemctl is-enabled -q ingero-echo
check "nobody is asked to start it again" not says "next:" /tmp/upgraded
check "its token is kept, and what it was sent" soon kept
timed "removing Echo's rpm" /tmp/removed rpm -e ingero-echo
check "Echo is removed" not test -e /usr/bin/ingero-echo
check "nothing of Echo runs" not pgrep -x ingero-echo
check "what Echo kept is named" says "rm -r /var/lib/ingero-echo" /tmp/removed
check "it is root's" equal "$(stat -c %U:%G /var/lib/ingero-echo/echo.db)" root:root
check "Echo's user is gone" not getent passwd ingero-echo
check "nothing else of Echo is left" left /tmp/before-rpm '/var/lib/ingero-echo(/.*)?|/etc/ingero(/echo\.env\.rpmsave)?'
rm -r /var/lib/ingero-echo /etc/ingero /packages/*/ingero-echo-*.rpm

# The fleet, which has no service, and which the tracer of the rpm above is not there to ask.
timed "installing the fleet's rpm of an earlier version" /tmp/installed rpm -i /packages/old/ingero-fleet-0.rpm
check "the fleet says what is next" says "next: ingero-fleet serve --help" /tmp/installed
ingero-fleet serve >/tmp/fleet 2>&1 &
server=$!
check "it answers" soon says "agents are answered" /tmp/fleet
timed "upgrading the fleet's rpm" /tmp/upgraded rpm -U ingero-fleet-[0-9]*.x86_64.rpm
check "the fleet upgrades" equal "$(rpm -q ingero-fleet).rpm" "$(echo ingero-fleet-[0-9]*.x86_64.rpm)"
check "it says nothing of a first installation" not says "next:" /tmp/upgraded
check "one that runs goes on" kill -0 "$server"
kill "$server"
wait "$server"
check "the new one runs" ingero-fleet version
timed "removing the fleet's rpm" /tmp/removed rpm -e ingero-fleet
check "nothing of the fleet is left" left /tmp/before-rpm
