import {
  fromPublicId,
  ID_PREFIXES,
  lowestUuidAt,
  newUuid,
  parseUuidTime,
  toPublicId,
  type IdKind,
} from './ids.js';

describe('public ids', () => {
  test.each(Object.keys(ID_PREFIXES) as IdKind[])(
    'converts the id of an %s to its prefix and 32 hex digits, and back',
    (kind) => {
      const uuid = newUuid();
      const id = toPublicId(kind, uuid);
      expect(id).toMatch(new RegExp(`^${ID_PREFIXES[kind]}[0-9a-f]{32}$`));
      expect(fromPublicId(kind, id)).toBe(uuid);
    },
  );

  test.each([
    ['another kind', 'msg_0193b3a0c0007000800000000000abcd'],
    ['upper case', 'ins_0193B3A0C0007000800000000000ABCD'],
    ['too short', 'ins_0193b3a0'],
    ['one too long', 'ins_0193b3a0c0007000800000000000abcde'],
    ['a line break at the end', 'ins_0193b3a0c0007000800000000000abc\n'],
    ['an empty text', ''],
  ])('rejects %s as an instance id', (_name, text) => {
    expect(fromPublicId('instance', text)).toBeNull();
  });
});

describe('time in ids', () => {
  test('increases strictly within a process', () => {
    const ids = Array.from({ length: 5000 }, newUuid);
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('contains the millisecond of its creation', () => {
    const before = Date.now();
    const id = newUuid();
    expect(parseUuidTime(id)).toBeGreaterThanOrEqual(before);
    expect(parseUuidTime(id)).toBeLessThanOrEqual(Date.now() + 1);
    expect(id > lowestUuidAt(parseUuidTime(id))).toBe(true);
    expect(id < lowestUuidAt(parseUuidTime(id) + 1)).toBe(true);
  });
});
