import { redactLog, redactMetrics, redactText, redactValue, type Redaction } from './redact.js';

const NOTHING: Redaction = { included: [], names: ['Padaria Sol'] };

test.each([
  ['call 5511987654321 now', 'call [number] now'],
  ['call +55 (11) 98765-4321', 'call [number]'],
  ['5511987654321@s.whatsapp.net and 123456789012345@lid', '[number] and [number]'],
  ['at 2026-11-30T06:54:33.123Z', 'at 2026-11-30T06:54:33.123Z'],
  ['version 2.3000.1029384756', 'version 2.3000.1029384756'],
  ['ins_01989c5e7d2f7a3b9c1d2e3f40516273', 'ins_01989c5e7d2f7a3b9c1d2e3f40516273'],
  ['postgres://gwk:hunter2@db/gwk', 'postgres://[secret]@db/gwk'],
  ['Authorization: Bearer abc.def', 'Authorization: Bearer [secret]'],
  ['gwk_live_0123456789abcdef', '[secret]'],
  ['token=abcdef', 'token=[secret]'],
  ['send to 5511987654321: timed out', 'send to [number]: timed out'],
  ['phone:5511987654321', 'phone:[number]'],
  ['5511987654321:12', '[number]:12'],
  ['5511987654321_1.0', '[number]_1.0'],
  ['at 2026-11-30 06:54:33', 'at 2026-11-30 06:54:33'],
  ['PGPASSWORD=a1 DB_PASSWORD=b2', 'PGPASSWORD=[secret] DB_PASSWORD=[secret]'],
  ['host=db sslpassword=a1', 'host=db sslpassword=[secret]'],
  ['?access_token=a1&x=2', '?access_token=[secret]&x=2'],
  ['{"access_token":"a1"}', '{"access_token":[secret]}'],
  [String.raw`{\"access_token\":\"a1\"}`, String.raw`{\"access_token\":[secret]}`],
  ['client_secret: a1', 'client_secret: [secret]'],
  ['x-api-key: a1', 'x-api-key: [secret]'],
  ['pwd=a1', 'pwd=[secret]'],
  ['X-Amz-Signature=a1&b', 'X-Amz-Signature=[secret]&b'],
  ['Bearer  a1', 'Bearer [secret]'],
  ['password: "my long pass"', 'password: [secret]'],
  ['password: "cut off', 'password: [secret]'],
  ['postgres://gwk:ab/cd@db', 'postgres://[secret]@db'],
  ['postgres://gwk:p@ss@db', 'postgres://[secret]@db'],
  ['for Padaria Sol, ana@example.org', 'for [name], [name]'],
])('%s', (given, shown) => {
  expect(redactText(given, NOTHING)).toBe(shown);
});

test('hides values by their keys, and keeps measures', () => {
  const value = {
    token: 'x',
    display_name: 'Ana',
    text: 'hello',
    time: 1764485673123,
    phone: 1,
    level: 'info',
  };
  expect(redactValue(value, NOTHING)).toEqual({
    token: '[secret]',
    display_name: '[name]',
    text: '[content]',
    time: 1764485673123,
    phone: '[number]',
    level: 'info',
  });
});

test.each(['x-api-key', 'credentials', 'mediaKey', 'accessTokens'])('hides the value of %s', (key) => {
  expect(redactValue({ headers: { [key]: 'a1' } }, NOTHING)).toEqual({ headers: { [key]: '[secret]' } });
});

test.each([
  ['{"msg":"sent","pushName":"Ana"}', '{"msg":"sent","pushName":"[name]"}'],
  ['dear customer\n{"body":"hello"}\n', '[line that is not JSON]\n{"body":"[content]"}\n'],
])('redacts the last lines of a log in the status of a pod: %j', (message, shown) => {
  const status = (text: string) => ({
    containerStatuses: [
      { lastState: { terminated: { message: text } }, state: { terminated: { message: text } } },
    ],
  });
  expect(redactValue(status(message), NOTHING)).toEqual(status(shown));
});

test('shows what was asked for, and never secrets', () => {
  const all: Redaction = { included: ['numbers', 'names', 'content'], names: [] };
  const value = { token: 'x', text: 'hello', jid: '5511987654321@s.whatsapp.net' };
  expect(redactValue(value, all)).toEqual({ ...value, token: '[secret]' });
});

test('drops lines of a log that are not JSON, except frames of a stack', () => {
  const log = ['{"msg":"a","body":"secret words"}', 'dear customer', '    at open (file.js:1:2)'].join('\n');
  expect(redactLog(log, NOTHING)).toBe(
    ['{"msg":"a","body":"[content]"}', '[line that is not JSON]', '    at open (file.js:1:2)'].join('\n'),
  );
});

test('keeps the values of metrics', () => {
  const metric = 'process_resident_memory_bytes{who="5511987654321"} 123456789';
  expect(redactMetrics(metric, NOTHING)).toBe('process_resident_memory_bytes{who="[number]"} 123456789');
});
