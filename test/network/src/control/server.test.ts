import { findRefusal } from './server.js';

const json = { host: '127.0.0.1:8091', 'content-type': 'application/json' };

test.each<[string, string, Record<string, string>, boolean]>([
  ['a client of this machine', 'POST', json, true],
  ['a client that names the machine', 'POST', { ...json, host: 'LOCALHOST:8091' }, true],
  ['a client over IPv6', 'POST', { ...json, host: '[::1]:8091' }, true],
  ['a client on another machine', 'POST', { ...json, host: '10.0.0.7:8091' }, true],
  ['a charset', 'POST', { ...json, 'content-type': 'application/json; charset=utf-8' }, true],
  ['a form of a web page', 'POST', { ...json, 'content-type': 'text/plain' }, false],
  ['a page without a content type', 'POST', { host: json.host }, false],
  ['a page whose name resolves to this machine', 'POST', { ...json, host: 'evil.example:8091' }, false],
  ['a name that begins with this machine', 'POST', { ...json, host: '127.0.0.1.evil.example' }, false],
  ['no Host', 'POST', { 'content-type': json['content-type'] }, false],
  ['a link', 'GET', json, false],
])('the control API decides on %s', (_, method, headers, served) => {
  expect(findRefusal(method, headers) === null).toBe(served);
});
