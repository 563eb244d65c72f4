import { newUuid, toPublicId } from '@gwk/core/ids/ids';
import { createLogger } from '@gwk/core/process/log';
import { createTestDatabase, type TestDatabase } from '@gwk/test/support/servers/database';
import { audit } from '../accounts/audit-log.js';
import { openDatabase, type Database } from '../database/database.js';
import { auditLogJob } from './audit-log.js';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  db = openDatabase({ url: database.url, poolSize: 4, program: 'test' });
});
afterAll(async () => {
  await db.$disconnect();
  await database.drop();
});

type Line = Record<string, unknown>;

/** A worker with the strictest log level, and the lines it logged. */
function worker(onLine: () => void = () => undefined) {
  const lines: Line[] = [];
  const write = (text: string): void => {
    lines.push(JSON.parse(text) as Line);
    onLine();
  };
  return { lines, job: auditLogJob({ db, log: createLogger('worker', 'error', { write }) }) };
}
const change = (subject: string) =>
  audit(db, {
    actor: 'cli:somebody',
    accountId: null,
    action: 'policy.set',
    subject,
    detail: { policy: { opt_out: { keywords: ['w0rd'] } } },
  });

test('logs every change once, with its ids and changed fields, at any log level', async () => {
  const subjects = [newUuid(), newUuid(), newUuid()];
  for (const subject of subjects) await change(subject);
  const [one, other] = [worker(), worker()];
  const amounts = await Promise.all([one.job.pass(), other.job.pass()]);
  expect(amounts[0].amount + amounts[1].amount).toBe(3);
  const lines = [...one.lines, ...other.lines];
  expect(lines.map(({ subject }) => subject).sort()).toEqual([...subjects].sort());
  expect(lines[0]).toMatchObject({
    msg: 'audit',
    actor: 'cli:somebody',
    action: 'policy.set',
    changed: ['policy'],
    audit_id: expect.any(String) as string,
  });
  expect(JSON.stringify(lines)).not.toContain('w0rd');
  expect((await one.job.pass()).amount).toBe(0);
});

test('logs accounts, keys and instances by their public ids', async () => {
  const [accountId, key, subject] = [newUuid(), newUuid(), newUuid()];
  await audit(db, { actor: `key:${key}`, accountId, action: 'instance.update', subject, detail: {} });
  const { lines, job } = worker();
  await job.pass();
  expect(lines).toEqual([
    expect.objectContaining({
      account: toPublicId('account', accountId),
      actor: `key:${toPublicId('apiKey', key)}`,
      subject: toPublicId('instance', subject),
    }),
  ]);
});

test('logs an entry again under the same id when a worker died before it recorded the report', async () => {
  const subject = newUuid();
  await change(subject);
  const dying = worker(() => {
    throw new Error('the end');
  });
  await expect(dying.job.pass()).rejects.toThrow('the end');
  const successor = worker();
  await successor.job.pass();
  expect(successor.lines.map((line) => line['audit_id'])).toEqual(
    dying.lines.map((line) => line['audit_id']),
  );
  expect(successor.lines).toHaveLength(1);
});
