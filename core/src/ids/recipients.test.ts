import { canonicalPhone, toNetworkId, parseRecipient, parseUsername } from './recipients.js';

describe('forms of `to`', () => {
  test.each([
    ['a phone', '5511987654321', { kind: 'contact', name: '5511987654321', phone: '5511987654321' }],
    ['the shortest phone', '12345678', { kind: 'contact', name: '12345678', phone: '12345678' }],
    [
      'the longest phone',
      '123456789012345',
      { kind: 'contact', name: '123456789012345', phone: '123456789012345' },
    ],
    [
      'a contact by network id',
      '14155550123@s.whatsapp.net',
      { kind: 'contact', name: '14155550123', phone: '14155550123' },
    ],
    [
      'a device of a contact',
      '14155550123:7@s.whatsapp.net',
      { kind: 'contact', name: '14155550123', phone: '14155550123' },
    ],
    ['a LID', '98765432101234@lid', { kind: 'contact', name: '98765432101234@lid', phone: null }],
    ['a group', '120363042@g.us', { kind: 'group', name: '120363042@g.us', phone: null }],
    [
      'an old group',
      '5511987654321-1400000000@g.us',
      { kind: 'group', name: '5511987654321-1400000000@g.us', phone: null },
    ],
  ])('accepts %s', (_name, to, expected) => {
    expect(parseRecipient(to)).toEqual(expected);
  });

  test.each([
    ['seven digits', '1234567'],
    ['sixteen digits', '1234567890123456'],
    ['a plus sign', '+5511987654321'],
    ['spaces', '55 11 98765-4321'],
    ['letters', 'abcdefgh'],
    ['another domain', '5511987654321@example.com'],
    ['a network id without a phone number', '1234567@s.whatsapp.net'],
    ['digits of another script', '١٢٣٤٥٦٧٨'],
    ['an overlong device number', `14155550123:${'0'.repeat(1_000)}7@s.whatsapp.net`],
    ['a LID with an overlong device number', `98765432101234:${'0'.repeat(1_000)}7@lid`],
    ['a line break', '5511987654321\n'],
    ['an empty text', ''],
  ])('rejects %s', (_name, to) => {
    expect(parseRecipient(to)).toBeNull();
  });
});

describe('canonicalPhone', () => {
  test.each([
    ['adds the ninth digit to a Brazilian mobile number', '551187654321', '5511987654321'],
    ['keeps the ninth digit', '5511987654321', '5511987654321'],
    ['keeps a Brazilian landline number', '551133334444', '551133334444'],
    ['removes the 1 from a Mexican number', '5215512345678', '525512345678'],
    ['keeps a Mexican number without 1', '525512345678', '525512345678'],
    ['removes the 9 from an Argentine number', '5491112345678', '541112345678'],
    ['keeps an Argentine number without 9', '541112345678', '541112345678'],
    ['keeps other numbers', '14155550123', '14155550123'],
  ])('%s', (_name, given, expected) => {
    expect(canonicalPhone(given)).toBe(expected);
  });

  test('maps a phone number to its network id, and keeps a network id', () => {
    expect(toNetworkId('14155550123')).toBe('14155550123@s.whatsapp.net');
    expect(toNetworkId('98765432101234@lid')).toBe('98765432101234@lid');
  });
});

test.each<[unknown, string | null]>([
  ['ana.souza_1', 'ana.souza_1'],
  ['@ana', 'ana'],
  ['x'.repeat(35), 'x'.repeat(35)],
  ['x'.repeat(36), null],
  ['ab', null],
  ['', null],
  ['@@ana', null],
  ['ana souza', null],
  ['ana\u0000', null],
  ['ana\n', null],
  ['\u202eana', null],
  ['аna', null],
  [undefined, null],
  [{ toString: () => 'ana' }, null],
])('parses the username %j', (text, username) => {
  expect(parseUsername(text)).toBe(username);
});
