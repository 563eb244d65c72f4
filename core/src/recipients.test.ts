import { canonicalPhone, toNetworkId, parseRecipient } from './recipients.js';

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
    ['a hidden number', '98765432101234@lid', { kind: 'contact', name: '98765432101234@lid', phone: null }],
    ['a group', '120363042@g.us', { kind: 'group', name: '120363042@g.us', phone: null }],
    [
      'an old group',
      '5511987654321-1400000000@g.us',
      { kind: 'group', name: '5511987654321-1400000000@g.us', phone: null },
    ],
  ])('%s is accepted', (_name, to, expected) => {
    expect(parseRecipient(to)).toEqual(expected);
  });

  test.each([
    ['seven digits', '1234567'],
    ['sixteen digits', '1234567890123456'],
    ['a plus sign', '+5511987654321'],
    ['spaces', '55 11 98765-4321'],
    ['letters', 'abcdefgh'],
    ['another domain', '5511987654321@example.com'],
    ['a network id whose user is no phone', '1234567@s.whatsapp.net'],
    ['digits of another script', '١٢٣٤٥٦٧٨'],
    ['a device without end', `14155550123:${'0'.repeat(1_000)}7@s.whatsapp.net`],
    ['a hidden number with one', `98765432101234:${'0'.repeat(1_000)}7@lid`],
    ['a line break', '5511987654321\n'],
    ['nothing', ''],
  ])('%s is refused', (_name, to) => {
    expect(parseRecipient(to)).toBeNull();
  });
});

describe('phones that the network treats as one', () => {
  test.each([
    ['a Brazilian mobile without the ninth digit', '551187654321', '5511987654321'],
    ['the same with it', '5511987654321', '5511987654321'],
    ['a Brazilian landline stays', '551133334444', '551133334444'],
    ['Mexico with 1', '5215512345678', '525512345678'],
    ['Mexico without', '525512345678', '525512345678'],
    ['Argentina with 9', '5491112345678', '541112345678'],
    ['Argentina without', '541112345678', '541112345678'],
    ['anything else stays', '14155550123', '14155550123'],
  ])('%s', (_name, given, expected) => {
    expect(canonicalPhone(given)).toBe(expected);
  });

  test('a phone is addressed by its network id, a network id by itself', () => {
    expect(toNetworkId('14155550123')).toBe('14155550123@s.whatsapp.net');
    expect(toNetworkId('98765432101234@lid')).toBe('98765432101234@lid');
  });
});
