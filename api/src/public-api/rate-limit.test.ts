import { networkOf } from './rate-limit.js';

test.each([
  ['an IPv4 address is itself', '203.0.113.7', '203.0.113.7'],
  ['an IPv4 address in IPv6 clothes is the same', '::ffff:203.0.113.7', '203.0.113.7'],
  ['an IPv6 address is its network', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['leading zeros say nothing', '2001:0db8:0001:0002::1', '2001:db8:1:2::/64'],
  ['what :: leaves out is zeros', '2001:db8::1', '2001:db8:0:0::/64'],
  ['the loopback', '::1', '0:0:0:0::/64'],
  ['a zone says nothing', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
])('%s', (_, address, network) => {
  expect(networkOf(address)).toBe(network);
});
