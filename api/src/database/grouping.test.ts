import { DatabaseError } from 'pg';
import { isRolledBack, readSqlState } from './grouping.js';

const prismaError = (cause: object) =>
  Object.assign(new Error('raw query failed'), { meta: { driverAdapterError: { cause } } });
const driverError = (code: string) => Object.assign(new DatabaseError('failed', 0, 'error'), { code });

describe('SQLSTATE', () => {
  test.each<[string, unknown, string | null]>([
    [
      'of a raw query of Prisma',
      prismaError({ originalCode: '23505', kind: 'UniqueConstraintViolation' }),
      '23505',
    ],
    ['of a driver call', driverError('55P03'), '55P03'],
    ['is null without a connection', prismaError({ kind: 'DatabaseNotReachable' }), null],
    [
      'is null for the error of a socket',
      Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
      null,
    ],
    [
      'is null for an error caused by a socket',
      new Error('terminated', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }),
      null,
    ],
    ['is null for a value that is not an error', 'no', null],
  ])('%s', (_, error, state) => expect(readSqlState(error)).toBe(state));
});

test('a group is split after a rollback, not after a lost connection', () => {
  expect(isRolledBack(driverError('22021'))).toBe(true);
  expect(isRolledBack(driverError('08006'))).toBe(false);
  expect(isRolledBack(new Error('terminated'))).toBe(false);
});
