import {
  BUNDLED,
  CLIENT_VERSION_SETTING,
  compareClientVersions,
  findClientVersionFault,
  findPinFault,
} from './client-version.js';

const DAY_MS = 86_400_000;
const bundled = { version: '2.3000.1043857760', day: '2026-07-25' };
const released = Date.parse(bundled.day);

describe('a served version', () => {
  test.each([
    ['the bundled one', '2.3000.1043857760', 0, null],
    ['one of five days later', '2.3000.1044142122', 5, null],
    ['one revision more', '2.3000.1043857761', 0, null],
    ['one revision less', '2.3000.1043857759', 0, 'older_than_bundled'],
    ['the growth of 30 days at once', '2.3000.1051357760', 0, null],
    ['more than the growth of 30 days at once', '2.3000.1051357761', 0, 'implausibly_new'],
    ['that growth a year later', '2.3000.1142607760', 365, null],
    ['more than that growth a year later', '2.3000.1142607761', 365, 'implausibly_new'],
    ['a clock before the bundled version', '2.3000.1043857760', -400, null],
    ['another minor version', '2.3001.1044142122', 5, 'malformed'],
    ['another major version', '3.3000.1044142122', 5, 'malformed'],
    ['too few digits', '2.3000.104414212', 5, 'malformed'],
    ['no version', 'latest', 5, 'malformed'],
    ['a line break behind it', '2.3000.1044142122\n', 5, 'malformed'],
  ])('%s', (_, version, days, fault) => {
    expect(findClientVersionFault(version, released + days * DAY_MS, bundled)).toBe(fault);
  });
});

test.each([
  ['2.3000.1035920091', null],
  ['2.3000.1044142122', null],
  ['2.3000.1', 'malformed'],
  ['', 'malformed'],
  ['2.3000.1000000000', 'implausibly_old'],
  ['2.3000.1299999999', 'implausibly_new'],
  ['2.3000.1999999999', 'malformed'],
])('a pin of %p has the fault %p', (version, fault) => {
  expect(findPinFault(version, Date.parse(BUNDLED.day))).toBe(fault);
});

test.each([
  ['auto', true],
  ['bundled', true],
  ['2.3000.1044142122', true],
  ['Auto', false],
  ['autobundled', false],
  ['2.3000.1044142122 ', false],
  ['', false],
])('the setting %p is valid: %p', (text, valid) => {
  expect(CLIENT_VERSION_SETTING.test(text)).toBe(valid);
});

test('versions are ordered by their revision', () => {
  const versions = ['2.3000.1044142122', '2.3000.1035920091', '2.3000.1043857760'];
  expect(versions.toSorted(compareClientVersions)).toEqual([
    '2.3000.1035920091',
    '2.3000.1043857760',
    '2.3000.1044142122',
  ]);
});
