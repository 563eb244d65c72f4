import { createLogger } from '@gwk/core/process/log';
import { createWorld, type World } from '@gwk/test/support/api/acceptance';
import { INBOUND_BURST, INBOUND_PER_SECOND, InboundRate, refill } from './inbound-rate.js';

let world: World;
beforeAll(async () => {
  world = await createWorld(1);
});
afterAll(() => world.close());

test.each([
  ['nothing was used', undefined, 0, INBOUND_BURST],
  ['a second passed', { events: 0, bytes: 0, at: 0 }, 1_000, INBOUND_PER_SECOND],
  ['hours passed', { events: -5, bytes: 0, at: 0 }, 1e9, INBOUND_BURST],
] as const)('refills when %s', (_, bucket, now, expected) => {
  expect(refill(bucket, now)).toEqual(expected);
});

describe('an engine above its limit', () => {
  let now = 0;
  let rate: InboundRate;
  let instanceId: string;
  beforeEach(async () => {
    now = 0;
    instanceId = await world.addInstance();
    const log = createLogger('test', 'fatal');
    rate = new InboundRate({ database: world.database, log, now: () => now });
  });
  const take = (events: number, bytes = 1) => rate.take(instanceId, { events, bytes });
  const entries = () =>
    world.database.auditEntry.findMany({
      where: { subject: instanceId, action: 'instance.inbound-limited' },
    });

  test('waits until its debt is paid, and another engine does not', async () => {
    await take(INBOUND_BURST.events);
    await expect(take(1)).rejects.toMatchObject({ refusal: 'unavailable', more: { retry_after_ms: 1_000 } });
    await rate.take(await world.addInstance(), { events: 1, bytes: 1 });
    now = 10;
    await take(1);
  });

  test('waits for its bytes too, and is told at most 10 s', async () => {
    await take(1, INBOUND_BURST.bytes + 100 * INBOUND_PER_SECOND.bytes);
    await expect(take(1)).rejects.toMatchObject({ more: { retry_after_ms: 10_000 } });
  });

  test('is in the audit log of its account, once an hour', async () => {
    for (now of [0, 3_599_999]) {
      await take(INBOUND_BURST.events);
      await expect(take(1)).rejects.toThrow('unavailable');
    }
    expect(await entries()).toMatchObject([
      {
        accountId: world.accountId,
        actor: 'gwk:api',
        detail: { events_per_second: 100, bytes_per_second: 200_000 },
      },
    ]);
  });
});
