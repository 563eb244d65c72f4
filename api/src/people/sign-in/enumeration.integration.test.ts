import { Browser, createUser } from '@gwk/test/support/api/console';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';

/** An API of its own, whose process time only these sign-ins use. */
let api: TestApi;

beforeAll(async () => {
  api = await openApi({
    settings: { GWK_API_TRUST_PROXY: '1', GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '100000' },
  });
});
afterAll(() => api.stop());

const USERS = 6;
const ROUNDS = 6;
const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

/** Processor time of a failed sign-in in milliseconds, of all threads. A busy machine does not change it as it does time. */
async function measure(email: string, address: string): Promise<number> {
  const browser = new Browser(api);
  browser.headers['x-forwarded-for'] = address;
  const before = process.cpuUsage();
  const { status } = await browser.signIn(email, 'a wrong password');
  const { user, system } = process.cpuUsage(before);
  expect(status).toBe(401);
  return (user + system) / 1000;
}

test('a failed sign-in costs the same for known and unknown e-mails', async () => {
  const known = await Promise.all(Array.from({ length: USERS }, () => createUser(api)));
  const without = await Promise.all(Array.from({ length: USERS }, () => createUser(api)));
  const noPassword = { id: { in: without.map(({ id }) => id) } };
  await api.db.user.updateMany({ where: noPassword, data: { passwordHash: null } });
  const kinds = {
    known: known.map(({ email }) => email),
    without: without.map(({ email }) => email),
    unknown: known.map(({ email }) => `not-${email}`),
  };
  const times: Record<string, number[]> = { known: [], without: [], unknown: [] };
  await measure('warm-up@example.org', '10.7.0.1');
  for (let round = 0; round < ROUNDS; round++) {
    for (let n = 0; n < USERS; n++) {
      // Interleaved, so that a change of the machine meets all kinds alike.
      for (const [kind, emails] of Object.entries(kinds)) {
        times[kind]!.push(await measure(emails[n]!, `10.7.${round + 1}.${n + 1}`));
      }
    }
  }
  const base = median(times['known']!);
  // Without its hash, a sign-in would cost a tenth.
  for (const kind of ['without', 'unknown']) {
    const ratio = median(times[kind]!) / base;
    expect(ratio).toBeGreaterThan(0.6);
    expect(ratio).toBeLessThan(1.6);
  }
});
