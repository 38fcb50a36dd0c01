#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Perl: IO::Socket and IO::Select; a server that forks for a connection, a client that runs a command beside connections
# that are open, shut and ended.
. "$(dirname "$0")/lib.sh"
need perl
net_up
cat >"$TMP/server.pl" <<'END'
use strict; use IO::Socket::INET; use IO::Select;
$SIG{PIPE} = 'IGNORE';
my @at = (LocalAddr => $ARGV[0], LocalPort => 8100);
my $udp = IO::Socket::INET->new(@at, Proto => 'udp') or die "$!";
my $listener = IO::Socket::INET->new(@at, Listen => 50, ReuseAddr => 1) or die "$!";
my $all = IO::Select->new($listener, $udp);
while (1) {
	for my $s ($all->can_read) {
		if ($s == $listener) {
			my $c = $s->accept;
			$c->autoflush(1);
			$all->add($c);
		} elsif ($s == $udp) {
			my $from = recv($s, my $d, 2000, 0);
			send($s, reverse($d), 0, $from);
		} elsif (!sysread($s, my $d, 65536)) {
			$all->remove($s);
			close $s;
		} elsif ($d !~ /^fork/) {
			print $s $d;
		} elsif (my $child = fork) {
			$all->remove($s);
			close $s;
			waitpid($child, 0);
		} else {
			print $s "child\n";
			print $s "child got " . <$s>;
			exit 0;
		}
	}
}
END
cat >"$TMP/client.pl" <<'END'
use strict; use IO::Socket::INET; use IO::Select; use Socket qw(:all);
$| = 1;
sub connected { return IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => $_[0], Timeout => 20) }
sub line { my $l = readline($_[0]); print defined $l ? $l : "end\n" }
my @c = map { connected(8100) or die "$!" } 0 .. 6;
print { $c[$_] } "hello $_\n" for 0 .. 6;
line($_) for @c;
for my $k (1 .. 100) { my $s = $c[$k % 7]; print $s "$k\n"; die if readline($s) ne "$k\n" }
my ($s, $in, $out) = ($c[0], '', join('', map { chr(97 + $_ % 26) } 1 .. 300000));
my ($sent, $set) = (0, IO::Select->new($s));
$s->blocking(0);
while (length($in) < length($out)) {
	my ($r, $w) = IO::Select->select($set, $sent < length($out) ? $set : undef, undef, 20);
	$sent += syswrite($s, $out, 65536, $sent) // 0 if $w && @$w;
	sysread($s, $in, 65536, length $in) if $r && @$r;
}
print $in eq $out ? "the same\n" : "another\n";
print IO::Select->new($c[1])->can_read(0.1) ? "data\n" : "nothing\n";
print connected(9) ? "connected\n" : "$!\n";
print { $c[2] } "fork\n";
line($c[2]);
print { $c[2] } "me\n";
line($c[2]) for 1, 2;
setsockopt($c[3], SOL_SOCKET, SO_LINGER, pack('ii', 1, 0));
close $c[3];
shutdown($c[4], 1);
line($c[4]);
open(my $dup, '+<&', $c[5]) or die;
$dup->autoflush(1);
close $c[5];
print `echo a command`;
print $dup "after\n";
line($dup);
my $udp = IO::Socket::INET->new(PeerAddr => $ARGV[0], PeerPort => 8100, Proto => 'udp');
$udp->send('abc');
$udp->recv(my $d, 100);
print "$d\n";
eval { local $SIG{ALRM} = sub { die "alarm\n" }; alarm 1; line($c[6]) };
print $@;
END
server() { bg pb perl "$TMP/server.pl" "$B4"; }
talk() { timeout 60 perl "$TMP/client.pl" "$B4"; }
zoo perl 8100
done_testing
