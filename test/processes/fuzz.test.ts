import fc from 'fast-check';
import { HostileClient } from '../support/gateway/hostile-client.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { hostileRequests } from '../support/hostile/hostile-requests.js';
import { hostileSweep } from './hostile-sweep.js';

/** How many requests; `make fuzz` asks for more. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 2_000);
/** Another one each time, unless one is to be repeated. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const BATCH = 10;

/**
 * Hostile requests against every operation, on real processes: never a 500, never a hang, never an answer that the
 * description of the interface does not know (every answer of the client is held against it).
 */
describe('hostile requests', () => {
  let stage: Stage;
  let hostile: HostileClient;
  let pid: number | undefined;

  beforeAll(async () => {
    stage = await openStage('fuzz');
    await stage.gateway.gwk('account', 'limits', 'fuzz', '--max-instances', '1');
    hostile = await HostileClient.of({ ...stage, client: stage.customer.client });
    ({ pid } = stage.gateway.apis[0]!);
  });
  afterAll(() => stage?.close());

  /** It is the process of the beginning, and nothing unforeseen is in its log. */
  async function staysInGoodHealth(): Promise<void> {
    expect(stage.gateway.apis[0]!.pid).toBe(pid);
    await hostile.staysInGoodHealth();
    const unforeseen = [...stage.gateway.logs()].flatMap(([name, lines]) =>
      lines.filter((line) => line.includes('"a request failed"')).map((line) => `${name}: ${line}`),
    );
    expect(unforeseen).toEqual([]);
  }

  test('every parameter and every place of a body, with every hostile value in it', async () => {
    const requests = hostileSweep(hostile.document, hostile.ids);
    // As many as the description gives, and not few: it was read as it is.
    expect(requests.length).toBeGreaterThan(5_000);
    await hostile.send(requests);
    await staysInGoodHealth();
  });

  test(`${REQUESTS} at random, seed ${SEED}`, async () => {
    const batch = fc.array(hostileRequests(hostile.document, hostile.ids), {
      minLength: BATCH,
      maxLength: BATCH,
    });
    await fc.assert(
      fc.asyncProperty(batch, (requests) => hostile.send(requests)),
      { numRuns: Math.ceil(REQUESTS / BATCH), seed: SEED, endOnFailure: true },
    );
    await staysInGoodHealth();
  });
});
