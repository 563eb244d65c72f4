import { trackHolder } from './backlog.js';

const KNOWN = { transaction: '700', since: 1_000 };

test.each([
  ['begins with the first read', { known: null, oldest: '701' }, { transaction: '701', since: 9_000 }],
  ['continues while the same transaction runs', { known: KNOWN, oldest: '700' }, KNOWN],
  ['begins again with another one', { known: KNOWN, oldest: '701' }, { transaction: '701', since: 9_000 }],
  ['ends when none runs', { known: KNOWN, oldest: null }, null],
  ['stays absent while none runs', { known: null, oldest: null }, null],
])('the time of a transaction that holds events back %s', (_, { known, oldest }, expected) => {
  expect(trackHolder(known, oldest, 9_000)).toEqual(expected);
});
