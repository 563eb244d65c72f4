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
