# An SMSC with Net::SMPP: takes messages, gives receipts, sends answers, and drops the connection when told to.
# Prints its port, then one line of JSON per message. Commands come on standard input: reply NUMBER HEX CODING, drop N.
use strict;
use warnings;
use IO::Select;
use Net::SMPP;

$| = 1;
my $server = Net::SMPP->new_listen('127.0.0.1', port => 0, smpp_version => 0x34) or die "listen: $!";
print "PORT " . $server->sockport . "\n";

my $select = IO::Select->new($server, \*STDIN);
my ($client, $count, $drop) = (undef, 0, 0);

sub receipt {
    my ($pdu, $id) = @_;
    $client->deliver_sm(
        source_addr => $pdu->{destination_addr}, source_addr_ton => 1, source_addr_npi => 1,
        destination_addr => $pdu->{source_addr}, esm_class => 0x04, data_coding => 0,
        short_message => sprintf('id:%s sub:001 dlvrd:001 submit date:2611151200 done date:2611151200 stat:DELIVRD err:000 text:', $id),
        (defined $pdu->{user_message_reference} ? (user_message_reference => $pdu->{user_message_reference}) : ()),
        async => 1,
    );
}

my @owed;
while (1) {
    for my $ready ($select->can_read) {
        if ($ready == $server) {
            my $next = $server->accept or next;
            $client = $next;
            $select->add($client);
            next;
        }
        if (fileno($ready) == fileno(STDIN)) {
            my $got = sysread(STDIN, my $line, 65536);
            exit 0 unless $got;
            for (split /\n/, $line) {
                if (/^drop (\d+)/) { $drop = $1; print "DROPPING $1\n" }
                if (/^reply (\d+) ([0-9a-f]+) (\d+) (\d+)/) {
                    $client->deliver_sm(source_addr => $1, source_addr_ton => 1, source_addr_npi => 1, destination_addr => '29000',
                        esm_class => $4, data_coding => $3, short_message => pack('H*', $2), async => 1);
                }
            }
            next;
        }
        my $pdu = $ready->read_pdu;
        if (!defined $pdu) {
            $select->remove($ready);
            close $ready;
            next;
        }
        my $command = $pdu->{cmd};
        if ($command == Net::SMPP::CMD_bind_transceiver) {
            print "BIND $pdu->{system_id} $pdu->{password}\n";
            $ready->bind_transceiver_resp(seq => $pdu->{seq}, system_id => 'perl', async => 1);
            receipt(@$_) for splice @owed;
        }
        elsif ($command == Net::SMPP::CMD_submit_sm) {
            my $id = sprintf('%x', 0xabc000 + ++$count);
            printf "SUBMIT %s %d %d %s %s %s\n", $pdu->{destination_addr}, $pdu->{esm_class}, $pdu->{data_coding},
                unpack('H*', $pdu->{short_message}), $pdu->{registered_delivery},
                defined $pdu->{user_message_reference} ? unpack('H*', $pdu->{user_message_reference}) : '-';
            if ($drop > 0 && --$drop == 0) {
                # Taken, and gone before the answer; the receipt comes on the next connection.
                push @owed, [$pdu, $id];
                $select->remove($ready);
                close $ready;
                last;
            }
            $ready->submit_sm_resp(seq => $pdu->{seq}, message_id => $id, async => 1);
            # In decimal, as some carriers write it.
            receipt($pdu, hex $id);
        }
        elsif ($command == Net::SMPP::CMD_enquire_link) { $ready->enquire_link_resp(seq => $pdu->{seq}, async => 1) }
        elsif ($command == Net::SMPP::CMD_unbind) { $ready->unbind_resp(seq => $pdu->{seq}, async => 1) }
        elsif ($command == Net::SMPP::CMD_deliver_sm_resp) { print "ACK $pdu->{status}\n" }
    }
}
