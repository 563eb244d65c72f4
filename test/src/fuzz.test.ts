import type { OpenApiDocument } from '@gwk/api/openapi/document';
import fc from 'fast-check';
import type { GatewayClient } from './harness/client.js';
import { hostileRequests, type HostileRequest, type Ids } from './harness/hostile-requests.js';
import { openStage, type Stage } from './harness/stage.js';
import { phoneOf } from './harness/traffic.js';
import { until } from './harness/wait.js';

/** How many requests; `make fuzz` asks for more. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 2_000);
/** Another one each time, unless one is to be repeated. */
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);
const AT_ONCE = 10;
const PATIENCE_MS = 10_000;

/**
 * Random and hostile requests against every operation, on real processes: never a 500, never a hang, never an answer
 * that the description of the interface does not know (every answer of the client is held against it).
 */
describe('random and hostile requests', () => {
  let stage: Stage;
  let client: GatewayClient;
  let document: OpenApiDocument;
  let ids: Ids;

  beforeAll(async () => {
    stage = await openStage('fuzz');
    ({ client } = stage.customer);
    await stage.gateway.gwk('account', 'limits', 'fuzz', '--max-instances', '1');
    document = (await (await fetch(`${client.baseUrl}/openapi.json`)).json()) as OpenApiDocument;
    ids = await someIds();
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

  test(
    `${REQUESTS} of them, seed ${SEED}`,
    async () => {
      const pid = stage.gateway.apis[0]!.pid;
      const batch = fc.array(hostileRequests(document, ids), { minLength: AT_ONCE, maxLength: AT_ONCE });
      await fc.assert(
        fc.asyncProperty(batch, async (requests) => {
          await Promise.all(requests.map(answered));
        }),
        { numRuns: Math.ceil(REQUESTS / AT_ONCE), seed: SEED, endOnFailure: true },
      );
      // The same process, in good health: it takes a message, and the message leaves.
      expect(stage.gateway.apis[0]!.pid).toBe(pid);
      await client.expect(200, 'PATCH', `/v1/instances/${stage.instance.id}`, { body: { policy: null } });
      await client.untilConnected(stage.instance.id);
      const { id } = await client.acceptedText(stage.instance.id, phoneOf(3), 'after all');
      await until(async () => (await client.message(id)).sent_at !== null, { what: 'it leaves' });
      const unforeseen = [...stage.gateway.logs()].flatMap(([name, lines]) =>
        lines.filter((line) => line.includes('"a request failed"')).map((line) => `${name}: ${line}`),
      );
      expect(unforeseen).toEqual([]);
    },
    REQUESTS * 60 + 120_000,
  );
});
