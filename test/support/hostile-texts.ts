/** The longest text that a message may have, in code points. */
const LENGTH = 65_536;

const fill = (unit: string, start = '', end = ''): string =>
  start + unit.repeat(Math.floor((LENGTH - start.length - end.length) / [...unit].length)) + end;

/** Texts that make careless code take time that grows with the square of their length. */
export const HOSTILE_TEXTS: readonly [string, string][] = [
  ['marks in reverse canonical order', `a${'\u0301'.repeat(32_767)}${'\u0316'.repeat(32_768)}`],
  ['marks outside the basic plane', `a${'\u{1d185}'.repeat(32_767)}${'\u{1d17b}'.repeat(32_768)}`],
  ['letters that become marks', `${'\u0301'.repeat(32_768)}${'\uff9e'.repeat(32_768)}`],
  ['long runs of marks', fill(`a${'\u0301'.repeat(4_000)}${'\u0316'.repeat(4_000)}`)],
  ['short runs of marks', fill(`a${'\u0301'.repeat(15)}${'\u0316'.repeat(15)}`)],
  ['a character that becomes eighteen', fill('\ufdfa')],
  ['punctuation before a letter', fill('.', '', 'x')],
  ['a link with punctuation before a letter', fill('.', 'http://a.io/', 'x')],
  ['a link with marks in its host', fill('\u0316', `http://a${'\u0301'.repeat(32_000)}`)],
  ['many starts of links', fill('http://')],
  ['symbols before a letter', fill('\u2057', '', 'x')],
  ['spaces before a letter', fill(' ', '', 'x')],
  ['line ends', fill('\r\n')],
  ['digits', fill('1 ')],
  ['opening brackets', fill('[')],
  ['nested markup', fill('*_~')],
  ['emoji joiners', fill('\u{1f468}\u200d')],
  ['regional indicators', fill('\u{1f1e7}')],
  ['invisible spaces', fill('\u200b')],
  ['contact card lines', fill('TEL;waid=1:\n')],
  ['lone surrogates', fill('\ud800')],
];

/** @returns the least processor time of five runs in milliseconds, which a busy machine does not lengthen */
export function cost(run: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const before = process.threadCpuUsage();
    run();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.min(...times);
}
