import { isPublicPlainHttp } from './console-url.js';

test.each([
  ['http://gwk.example.com', true],
  ['http://gwk.example.com:8080/api', true],
  ['http://8.8.8.8', true],
  ['https://gwk.example.com', false],
  ['http://127.0.0.1:8080', false],
  ['http://localhost:8080', false],
  ['http://10.1.2.3:8080', false],
  ['http://gwk-api.messages.svc:8080', false],
  ['http://gateway.lan', false],
])('judges %s', (url, expected) => {
  expect(isPublicPlainHttp(url)).toBe(expected);
});
