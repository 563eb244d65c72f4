import fc from 'fast-check';
import { SCOPES } from '@gwk/core/scopes';
import { HostileClient, type WeakerKey } from '../support/gateway/hostile-client.js';
import { GatewayClient } from '../support/gateway/client.js';
import { newKey } from '../support/gateway/customer.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import type { KeyRights } from '../support/hostile/matrix.js';
import { hostileRequests } from '../support/hostile/hostile-requests.js';
import { exhaustiveHostileRequests } from './exhaustive-hostile-requests.js';
import { largestRequests } from './largest-requests.js';

/** Number of requests. `make fuzz` sets more. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 2_000);
/** A new seed for each run, unless FUZZ_SEED repeats one. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const BATCH = 10;

/** Keys beside the one with all rights. */
const WEAKER: readonly KeyRights[] = [
  { scopes: SCOPES, restricted: true },
  { scopes: ['instances:read', 'messages:read', 'webhooks:read', 'events:read'] },
  { scopes: ['instances:write', 'messages:send'] },
  { scopes: ['media:write', 'webhooks:write'] },
  { scopes: ['events:read'] },
];

/**
 * Hostile requests to every operation of real processes must cause no 500, no hang, no response that OpenAPI does not
 * describe, and no turn of an event loop of the API, the worker or the operator above 50 ms. The client checks all.
 */
describe('hostile requests', () => {
  let stage: Stage;
  let hostile: HostileClient;
  let weaker: WeakerKey[] = [];
  let pid: number | undefined;

  beforeAll(async () => {
    stage = await openStage('fuzz', { watchLoops: true });
    await stage.gateway.gwk('account', 'limits', 'fuzz', '--max-instances', '1');
    weaker = await Promise.all(WEAKER.map(createKey));
    hostile = await HostileClient.of(
      { ...stage, client: stage.customer.client, weaker },
      stage.gateway.loops(),
    );
    ({ pid } = stage.gateway.apis[0]!);
  });
  afterAll(async () => {
    for (const { client } of weaker) client.close();
    await stage?.close();
  });

  async function createKey(rights: KeyRights): Promise<WeakerKey> {
    const { gateway, instance } = stage;
    const only = rights.restricted ? ['--instances', instance.id] : [];
    const { api_key } = await newKey(gateway, 'fuzz', rights.scopes.join(','), ...only);
    return { client: new GatewayClient(gateway.urls[0]!, api_key), rights };
  }

  /** The same process still runs, and its log contains no unexpected error. */
  async function staysInGoodHealth(): Promise<void> {
    expect(stage.gateway.apis[0]!.pid).toBe(pid);
    await hostile.staysInGoodHealth();
    const unforeseen = [...stage.gateway.logs()].flatMap(([name, lines]) =>
      lines.filter((line) => line.includes('"a request failed"')).map((line) => `${name}: ${line}`),
    );
    expect(unforeseen).toEqual([]);
  }

  test('every parameter and every field of a body with every hostile value', async () => {
    const requests = exhaustiveHostileRequests(hostile.document, hostile.ids);
    // OpenAPI determines the number. A low number would mean that it was not read.
    expect(requests.length).toBeGreaterThan(5_000);
    await hostile.send(requests);
    await staysInGoodHealth();
  });

  test('every parameter and every field of the largest size', async () => {
    const requests = largestRequests(hostile.document, hostile.ids);
    expect(requests.length).toBeGreaterThan(1_000);
    await hostile.send(requests);
    await staysInGoodHealth();
  });

  test(`${REQUESTS} random requests by six keys, seed ${SEED}`, async () => {
    const batch = fc.array(hostileRequests(hostile.document, hostile.ids), {
      minLength: BATCH,
      maxLength: BATCH,
    });
    await fc.assert(
      fc.asyncProperty(batch, async (requests) => {
        await hostile.sendByKeys(requests);
      }),
      { numRuns: Math.ceil(REQUESTS / BATCH), seed: SEED, endOnFailure: true },
    );
    await staysInGoodHealth();
    expect(Object.keys(hostile.answersByKey)).toEqual(expect.arrayContaining(['200', '403', '422']));
  });
});
