import type { OpenApiDocument } from '@gwk/api/openapi/document';
import fc from 'fast-check';
import type { GatewayClient } from '../support/gateway/client.js';
import type { Ids } from '../support/hostile/described-operations.js';
import { hostileRequests, type HostileRequest } from '../support/hostile/hostile-requests.js';
import { hostileSweep } from '../support/hostile/hostile-sweep.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { phoneOf } from '../support/gateway/traffic.js';
import { until } from '../support/wait.js';

/** How many requests; `make fuzz` asks for more. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 2_000);
/** Another one each time, unless one is to be repeated. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const AT_ONCE = 10;
const PATIENCE_MS = 10_000;

/**
 * Hostile requests against every operation, on real processes: never a 500, never a hang, never an answer that the
 * description of the interface does not know (every answer of the client is held against it).
 */
describe('hostile requests', () => {
  let stage: Stage;
  let client: GatewayClient;
  let document: OpenApiDocument;
  let ids: Ids;
  let pid: number | undefined;

  beforeAll(async () => {
    stage = await openStage('fuzz');
    ({ client } = stage.customer);
    await stage.gateway.gwk('account', 'limits', 'fuzz', '--max-instances', '1');
    document = (await (await fetch(`${client.baseUrl}/openapi.json`)).json()) as OpenApiDocument;
    ids = await someIds();
    ({ pid } = stage.gateway.apis[0]!);
  }, 120_000);
  afterAll(async () => {
    await stage?.close();
  }, 60_000);

  async function someIds(): Promise<Ids> {
    const message = await client.acceptedText(stage.instance.id, phoneOf(1), 'x');
    const event = await until(async () => (await client.events())[0], { what: 'an event' });
    const delivery = await until(async () => (await client.deliveries(stage.endpointId))[0], {
      what: 'a delivery',
    });
    return {
      instance_id: stage.instance.id,
      message_id: message.id,
      media_id: `med_${'0'.repeat(32)}`,
      event_id: event.id,
      endpoint_id: stage.endpointId,
      delivery_id: delivery.id,
      phone: phoneOf(2),
      chat: phoneOf(2),
    };
  }

  async function answered(request: HostileRequest): Promise<void> {
    const { method, path, headers, body } = request;
    const sending = { headers, ...(body !== undefined && { body }), timeoutMs: PATIENCE_MS };
    const told = JSON.stringify({ ...request, body: body?.toString().slice(0, 2_000) });
    const answer = await client.call(method, path, sending).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}, to ${told}`);
    });
    if (answer.status === 500) throw new Error(`500, to ${told}`);
  }

  /** It is the process of the beginning, it takes a message, and the message leaves. */
  async function staysInGoodHealth(): Promise<void> {
    expect(stage.gateway.apis[0]!.pid).toBe(pid);
    await client.expect(200, 'PATCH', `/v1/instances/${stage.instance.id}`, { body: { policy: null } });
    await client.untilConnected(stage.instance.id);
    const { id } = await client.acceptedText(stage.instance.id, phoneOf(3), 'after all');
    await until(async () => (await client.message(id)).sent_at !== null, { what: 'it leaves' });
    const unforeseen = [...stage.gateway.logs()].flatMap(([name, lines]) =>
      lines.filter((line) => line.includes('"a request failed"')).map((line) => `${name}: ${line}`),
    );
    expect(unforeseen).toEqual([]);
  }

  test('every parameter and every place of a body, with every hostile value in it', async () => {
    const requests = hostileSweep(document, ids);
    // As many as the description gives, and not few: it was read as it is.
    expect(requests.length).toBeGreaterThan(5_000);
    for (let i = 0; i < requests.length; i += AT_ONCE) {
      await Promise.all(requests.slice(i, i + AT_ONCE).map(answered));
    }
    await staysInGoodHealth();
  }, 600_000);

  test(
    `${REQUESTS} at random, seed ${SEED}`,
    async () => {
      const batch = fc.array(hostileRequests(document, ids), { minLength: AT_ONCE, maxLength: AT_ONCE });
      await fc.assert(
        fc.asyncProperty(batch, async (requests) => {
          await Promise.all(requests.map(answered));
        }),
        { numRuns: Math.ceil(REQUESTS / AT_ONCE), seed: SEED, endOnFailure: true },
      );
      await staysInGoodHealth();
    },
    REQUESTS * 60 + 120_000,
  );
});
