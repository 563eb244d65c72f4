import { Logins } from './logins.js';

const LIMIT = { times: 2, seconds: 10, minutes: 60 };

function limited(): Logins {
  const logins = new Logins();
  logins.countAnew(LIMIT);
  return logins;
}

describe('a limit of logins', () => {
  it('bans a number with the first one over it, and no other number', () => {
    const logins = limited();
    expect([0, 1, 2].map((ms) => logins.add('1', ms))).toEqual([undefined, undefined, 60]);
    expect(logins.add('2', 3)).toBeUndefined();
    expect(logins.counts()).toEqual({ most: 3, replaced: 0, banned: 1 });
  });

  it('looks no further back than it says', () => {
    const logins = limited();
    expect([0, 5_000, 10_000, 15_000].map((ms) => logins.add('1', ms))).toEqual(Array(4).fill(undefined));
    expect(logins.add('1', 19_999)).toBe(60);
  });

  it('is off where nobody has set it, and off again with a count that is begun without it', () => {
    const logins = new Logins();
    for (let login = 0; login < 100; login++) expect(logins.add('1', 0)).toBeUndefined();
    expect(logins.counts()).toEqual({ most: 100, replaced: 0, banned: 0 });
    logins.countAnew(LIMIT);
    expect(logins.counts()).toEqual({ most: 0, replaced: 0, banned: 0 });
    logins.countAnew();
    for (let login = 0; login < 3; login++) expect(logins.add('1', 0)).toBeUndefined();
  });
});
