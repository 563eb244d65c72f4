import { decideActiveHours } from './active-hours.js';
import { offsetAt } from './time-zone.js';

const NOW = Date.UTC(2026, 6, 1, 12);

/** @returns a name with its letters in upper case where the bits of the number are set */
function spell(name: string, number: number): string {
  const cased = [...name].map((letter, at) => ((number >> at) & 1 ? letter.toUpperCase() : letter));
  return cased.join('');
}
const spellings = (name: string): string[] =>
  Array.from({ length: 1_000 }, (_, number) => spell(name, number));

/** Each kept format takes 60 kB, so a format for each spelling would fill the memory. */
describe('1,000 spellings of a time zone need one format', () => {
  const made = jest.spyOn(Intl, 'DateTimeFormat');
  beforeEach(() => void made.mockClear());
  afterAll(() => made.mockRestore());

  test('in a question for availability', () => {
    const names = spellings('antarctica/palmer');
    expect(new Set(names).size).toBe(1_000);
    const offsets = names.map((name) => offsetAt(NOW, name));
    expect(new Set(offsets)).toEqual(new Set([-3 * 3_600_000]));
    expect(made).toHaveBeenCalledTimes(1);
  });

  test('in active hours', () => {
    for (const timezone of spellings('antarctica/rothera')) {
      const hours = { start: '08:00', end: '20:00', timezone, outside: 'reject' as const };
      const decision = decideActiveHours({ hours, now: new Date(NOW), lastWroteAt: null });
      expect(decision).toEqual({ do: 'accept' });
    }
    expect(made).toHaveBeenCalledTimes(1);
  });
});

test('keeps the formats of at most 100 time zones', () => {
  const made = jest.spyOn(Intl, 'DateTimeFormat');
  const zones = Intl.supportedValuesOf('timeZone').slice(0, 101);
  for (const zone of zones) offsetAt(NOW, zone);
  made.mockClear();
  offsetAt(NOW, zones[100]!);
  expect(made).not.toHaveBeenCalled();
  offsetAt(NOW, zones[0]!);
  expect(made).toHaveBeenCalledTimes(1);
  made.mockRestore();
});
