import fc from 'fast-check';
import { HostileClient } from '../support/gateway/hostile-client.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { hostileRequests } from '../support/hostile/hostile-requests.js';
import { exhaustiveHostileRequests } from './exhaustive-hostile-requests.js';
import { largestRequests } from './largest-requests.js';

/** Number of requests. `make fuzz` sets more. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 2_000);
/** A new seed for each run, unless FUZZ_SEED repeats one. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const BATCH = 10;

/**
 * Hostile requests to every operation of real processes must cause no 500, no hang, no response that OpenAPI does not
 * describe, and no turn of an event loop of the API, the worker or the operator above 50 ms. The client checks all.
 */
describe('hostile requests', () => {
  let stage: Stage;
  let hostile: HostileClient;
  let pid: number | undefined;

  beforeAll(async () => {
    stage = await openStage('fuzz', { watchLoops: true });
    await stage.gateway.gwk('account', 'limits', 'fuzz', '--max-instances', '1');
    hostile = await HostileClient.of({ ...stage, client: stage.customer.client }, stage.gateway.loops());
    ({ pid } = stage.gateway.apis[0]!);
  });
  afterAll(() => stage?.close());

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

  test(`${REQUESTS} random requests, seed ${SEED}`, async () => {
    const batch = fc.array(hostileRequests(hostile.document, hostile.ids), {
      minLength: BATCH,
      maxLength: BATCH,
    });
    await fc.assert(
      fc.asyncProperty(batch, async (requests) => {
        await hostile.send(requests);
      }),
      { numRuns: Math.ceil(REQUESTS / BATCH), seed: SEED, endOnFailure: true },
    );
    await staysInGoodHealth();
  });
});
