import { RetryFailed } from './webhook.js';

describe('the period of a retry', () => {
  const since = '2026-11-21T14:30:00Z';
  const problems = (body: object) =>
    RetryFailed.safeParse(body).error?.issues.map(({ path, message }) => [path.join('.'), message]) ?? [];

  test.each([
    ['has a start', { since }, []],
    ['may end at its start', { since, until: since }, []],
    [
      'does not end before its start',
      { since, until: '2026-11-20T14:30:00Z' },
      [['until', 'must not be before since']],
    ],
    [
      'is not compared without a valid start',
      { since: 'x', until: since },
      [['since', 'Invalid ISO datetime']],
    ],
    ['is not compared without a valid end', { since, until: 'x' }, [['until', 'Invalid ISO datetime']]],
  ])('%s', (_, body, expected) => {
    expect(problems(body)).toEqual(expected);
  });
});
