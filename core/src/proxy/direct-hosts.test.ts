import { parseDirectHosts } from './direct-hosts.js';

const LIST =
  'corp.example.com, .internal.test,*.wild.test,10.1.0.0/16,192.0.2.7,s3.test:9000,[fd00::1]:443,fd00:1::/32';

test.each<[string, number, boolean]>([
  // This machine and this cluster.
  ['localhost', 80, true],
  ['127.0.0.9', 80, true],
  ['::1', 80, true],
  ['gwk-api', 80, true],
  ['minio.storage.svc', 9000, true],
  ['minio.storage.svc.cluster.local', 9000, true],
  // Names with their subdomains.
  ['corp.example.com', 443, true],
  ['a.CORP.example.com.', 443, true],
  ['notcorp.example.com', 443, false],
  ['a.internal.test', 443, true],
  ['a.wild.test', 443, true],
  // Addresses and ranges.
  ['10.1.2.3', 443, true],
  ['10.2.2.3', 443, false],
  ['192.0.2.7', 443, true],
  ['fd00:1::5', 443, true],
  ['fd00:2::5', 443, false],
  // Ports.
  ['s3.test', 9000, true],
  ['s3.test', 443, false],
  ['fd00::1', 443, true],
  ['fd00::1', 80, false],
  ['web.whatsapp.com', 443, false],
])('decides whether %s at %d is reached directly: %s', (host, port, isDirect) => {
  expect(parseDirectHosts(LIST)(host, port)).toBe(isDirect);
});

test('* names every host', () => {
  expect(parseDirectHosts('*')('web.whatsapp.com', 443)).toBe(true);
});

test.each(['10.0.0.0/33', '10.0.0.0/x', ','])('the wrong entry %s names no host', (text) => {
  expect(parseDirectHosts(text)('10.0.0.1', 443)).toBe(false);
});
