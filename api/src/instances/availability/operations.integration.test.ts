import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { AvailabilityOut } from '../../resources/availability.js';
import type { InstanceOut } from '../../resources/instance.js';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

let api: TestApi;
let client: ApiClient;
let instanceId: string;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  client = await api.clientOf(await api.account());
  const { body } = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'loja' } });
  instanceId = body.id;
});

const readAvailability = (query: Record<string, string> = {}) =>
  client.call<AvailabilityOut>('GET', `/v1/instances/${instanceId}/availability`, { query });
const problemCode = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);

/** Records past states; the last one is open. */
async function record(...states: [since: string, state: string, reason?: string][]): Promise<void> {
  const id = fromPublicId('instance', instanceId)!;
  await api.db.instanceState.deleteMany({ where: { instanceId: id } });
  for (const [index, [since, state, reason]] of states.entries()) {
    const next = states[index + 1]?.[0];
    await api.db.instanceState.create({
      data: {
        id: newUuid(),
        instanceId: id,
        state,
        reason: reason ?? null,
        since: new Date(since),
        endedAt: next === undefined ? null : new Date(next),
      },
    });
  }
  const first = states.find(([, state]) => state === 'connected');
  const firstConnectedAt = first ? new Date(first[0]) : null;
  await api.db.instance.update({ where: { id }, data: { firstConnectedAt } });
}

test('returns a past month in the given time zone', async () => {
  await record(
    ['2026-08-20T00:00:00Z', 'connected'],
    ['2026-09-10T12:00:00Z', 'disconnected', 'connection_lost'],
    ['2026-09-10T12:00:30Z', 'connecting'],
    ['2026-09-10T12:01:00Z', 'connected'],
  );
  const { status, body } = await readAvailability({ month: '2026-09', timezone: 'America/Sao_Paulo' });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    instance_id: instanceId,
    month: '2026-09',
    timezone: 'America/Sao_Paulo',
    period_start: '2026-09-01T03:00:00.000Z',
    period_end: '2026-10-01T03:00:00.000Z',
    uptime: 100,
    up_seconds: 30 * 86_400 - 60,
    tracked_seconds: 30 * 86_400,
    incidents: [
      {
        start: '2026-09-10T12:00:00.000Z',
        end: '2026-09-10T12:01:00.000Z',
        duration_s: 60,
        state: 'disconnected',
        reason: 'connection_lost',
      },
    ],
  });
  expect(body.days[9]).toEqual({ date: '2026-09-10', uptime: 99.93 });
});

test('an outage that began before the month has the state that opened it', async () => {
  await record(
    ['2026-05-01T00:00:00Z', 'connected'],
    ['2026-06-01T00:00:00Z', 'disconnected', 'connection_lost'],
    ['2026-06-02T00:00:00Z', 'logged_out', 'device_removed'],
  );
  const { body } = await readAvailability({ month: '2026-09' });
  expect(body).toMatchObject({
    uptime: 0,
    incidents: [{ state: 'disconnected', reason: 'connection_lost' }],
  });
});

test('returns the current month in São Paulo by default, up to now, with an open incident', async () => {
  const hourAgo = new Date(Date.now() - 3_600_000);
  const minuteAgo = new Date(Date.now() - 60_000);
  await record(
    [hourAgo.toISOString(), 'connected'],
    [minuteAgo.toISOString(), 'disconnected', 'connection_lost'],
  );
  const askedAt = Date.now();
  const { body } = await readAvailability();
  expect(body.timezone).toBe('America/Sao_Paulo');
  // The period ends at a whole second.
  expect(Date.parse(body.period_end)).toBeGreaterThan(askedAt - 1_000);
  expect(Date.parse(body.period_end)).toBeLessThanOrEqual(Date.now());
  expect(body.incidents.at(-1)).toMatchObject({ end: null, state: 'disconnected' });
});

test('an instance that never connected has no uptime', async () => {
  const { body } = await readAvailability();
  expect(body).toMatchObject({ uptime: null, up_seconds: 0, tracked_seconds: 0, incidents: [] });
  expect(body.days.every(({ uptime }) => uptime === null)).toBe(true);
});

test('time suspended by the resource is not measured', async () => {
  const id = fromPublicId('instance', instanceId)!;
  await record(
    ['2026-08-20T00:00:00Z', 'connected'],
    ['2026-09-10T00:00:05Z', 'disconnected', 'engine_stopped'],
  );
  await api.db.instanceSuspension.create({
    data: { id: newUuid(), instanceId: id, since: new Date('2026-09-10T00:00:00Z') },
  });
  const { body } = await readAvailability({ month: '2026-09', timezone: 'UTC' });
  expect(body).toMatchObject({ uptime: 100, tracked_seconds: 9 * 86_400, incidents: [] });
});

describe('refusals', () => {
  test.each(['2026-13', '2026', 'hoje', '2026-1', ''])('invalid-month: %j', async (month) => {
    const answer = await readAvailability({ month });
    expect([answer.status, problemCode(answer)]).toEqual([422, 'invalid-month']);
  });

  test.each(['Mars/Olympus', '+03:00', 'America', ''])('invalid-timezone: %j', async (timezone) => {
    const answer = await readAvailability({ timezone });
    expect([answer.status, problemCode(answer)]).toEqual([422, 'invalid-timezone']);
  });

  test('validation-error: a time zone of 65 characters', async () => {
    const answer = await readAvailability({ timezone: 'a'.repeat(65) });
    expect([answer.status, problemCode(answer)]).toEqual([422, 'validation-error']);
  });

  test('not-found: an absent instance', async () => {
    instanceId = `ins_${'0'.repeat(32)}`;
    expect((await readAvailability()).status).toBe(404);
  });
});
