import { Logins } from './logins.js';

const LIMIT = { times: 2, seconds: 10, minutes: 60 };

function limited(): Logins {
  const logins = new Logins();
  logins.resetCounts(LIMIT);
  return logins;
}

describe('a limit of logins', () => {
  it('bans a phone number at the first login above it, and no other phone number', () => {
    const logins = limited();
    expect([0, 1, 2].map((ms) => logins.add('1', ms))).toEqual([undefined, undefined, 60]);
    expect(logins.add('2', 3)).toBeUndefined();
    expect(logins.counts()).toEqual({ most: 3, replaced: 0, banned: 1 });
  });

  it('counts only logins within its period', () => {
    const logins = limited();
    expect([0, 5_000, 10_000, 15_000].map((ms) => logins.add('1', ms))).toEqual(Array(4).fill(undefined));
    expect(logins.add('1', 19_999)).toBe(60);
  });

  it('is off by default and after a reset without a limit', () => {
    const logins = new Logins();
    for (let login = 0; login < 100; login++) expect(logins.add('1', 0)).toBeUndefined();
    expect(logins.counts()).toEqual({ most: 100, replaced: 0, banned: 0 });
    logins.resetCounts(LIMIT);
    expect(logins.counts()).toEqual({ most: 0, replaced: 0, banned: 0 });
    logins.resetCounts();
    for (let login = 0; login < 3; login++) expect(logins.add('1', 0)).toBeUndefined();
  });
});
