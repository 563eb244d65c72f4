import { note, parseDuration, print, renderJson, renderTable, writeCell } from './command.js';

describe('output', () => {
  test('a table aligns its columns', () => {
    expect(
      renderTable(
        ['id', 'name'],
        [
          ['1', 'shop'],
          ['200', 'a'],
        ],
      ),
    ).toBe('ID   NAME\n1    shop\n200  a');
  });

  test('a cell cannot change the terminal', () => {
    expect(writeCell('a\u001b[31m\nb')).toBe('a [31m b');
    expect(writeCell('a\u202eb')).toBe('a b');
    expect([writeCell(null), writeCell({ a: 1 })]).toEqual(['-', '{"a":1}']);
  });
});

test.each([
  ['stdout', print],
  ['stderr', note],
] as const)('text for %s cannot change the terminal', (stream, write) => {
  const written = jest.spyOn(process[stream], 'write').mockReturnValue(true);
  try {
    write('a\u001b[31m\tb\nc\u009bd\u202ee\u2028');
    expect(written.mock.calls).toEqual([['a [31m\tb\nc d e \n']]);
  } finally {
    written.mockRestore();
  }
});

test('JSON cannot change the terminal, and keeps its value', () => {
  const value = { a: 'é\u001b\u007f\u009b\u202e' };
  expect(renderJson(value)).toBe(String.raw`{"a":"é\u001b\u007f\u009b\u202e"}`);
  expect(JSON.parse(renderJson(value, 2))).toEqual(value);
});

test.each([
  ['0', 0],
  ['90s', 90_000],
  ['2m', 120_000],
  ['1h', 3_600_000],
])('reads the time %s', (text, ms) => expect(parseDuration(text)).toBe(ms));
test.each(['', '-1', '2d', '1.5m'])('refuses the time "%s"', (text) =>
  expect(() => parseDuration(text)).toThrow(),
);
