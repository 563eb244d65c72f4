import { getNetwork } from './client-network.js';

test.each([
  ['keeps an IPv4 address', '203.0.113.7', '203.0.113.7'],
  ['reads an IPv4-mapped IPv6 address as IPv4', '::ffff:203.0.113.7', '203.0.113.7'],
  ['reads an IPv4 address behind a translator as IPv4', '64:ff9b::cb00:7107', '203.0.113.7'],
  ['keeps other networks of that prefix', '64:ff9b:1::cb00:7107', '64:ff9b:1:0::/64'],
  ['reduces an IPv6 address to its /64', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['ignores leading zeros', '2001:0db8:0001:0002::1', '2001:db8:1:2::/64'],
  ['expands :: to zeros', '2001:db8::1', '2001:db8:0:0::/64'],
  ['reads the loopback address', '::1', '0:0:0:0::/64'],
  ['ignores a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s', (_, address, network) => {
  expect(getNetwork(address)).toBe(network);
});
