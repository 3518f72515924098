# The rpm, by Debian's rpm: an earlier version is installed and used, upgraded to this one, and removed.

rpm() { command rpm --force-debian "$@"; } # else it says that dpkg should be used
everything >/tmp/before-rpm

# Install.
timed "installing the rpm of an earlier version" /tmp/installed rpm -i /packages/old/ingero-*.rpm
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
