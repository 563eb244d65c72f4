import { DatabaseError } from 'pg';
import { isUndone, sqlStateOf } from './grouping.js';

const ofClient = (cause: object) =>
  Object.assign(new Error('raw query failed'), { meta: { driverAdapterError: { cause } } });
const ofDriver = (code: string) => Object.assign(new DatabaseError('failed', 0, 'error'), { code });

describe('the SQLSTATE', () => {
  test.each<[string, unknown, string | null]>([
    [
      'of a query of the client',
      ofClient({ originalCode: '23505', kind: 'UniqueConstraintViolation' }),
      '23505',
    ],
    ['of a call past the client', ofDriver('55P03'), '55P03'],
    ['of a connection that is not there is none', ofClient({ kind: 'DatabaseNotReachable' }), null],
    [
      'of a socket that is not there is not its code',
      Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
      null,
    ],
    [
      'of a connection that did not come about is not the code of its socket',
      new Error('terminated', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }),
      null,
    ],
    ['of what is no error is none', 'no', null],
  ])('%s', (_, error, state) => expect(sqlStateOf(error)).toBe(state));
});

test('a group is taken apart where Postgres has undone it, not without a connection', () => {
  expect(isUndone(ofDriver('22021'))).toBe(true);
  expect(isUndone(ofDriver('08006'))).toBe(false);
  expect(isUndone(new Error('terminated'))).toBe(false);
});
