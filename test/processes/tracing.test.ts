import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { MessageOut } from '@gwk/core/resources/message';
import { Collector, type CollectedSpan } from '../support/collector.js';
import { ROOT } from '../support/program.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { testPhone } from '../support/gateway/traffic.js';
import { until } from '../support/wait.js';

const SECRET_TEXT = 'um segredo entre nós';
const CREDENTIAL = 'collector-credential-0123456789';

describe('traces', () => {
  let collector: Collector;
  let stage: Stage;
  beforeAll(async () => {
    collector = await Collector.start();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${CREDENTIAL}`,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
      OTEL_BSP_SCHEDULE_DELAY: '200',
    };
    stage = await openStage('traces', { settings: { api: env, worker: env, operator: env } });
  });
  afterAll(async () => {
    await stage?.close();
    await collector?.stop();
  });

  const newTrace = () => ({
    traceId: randomBytes(16).toString('hex'),
    spanId: randomBytes(8).toString('hex'),
  });
  const TEXT = { type: 'text', text: { body: SECRET_TEXT } };
  const send = async (place: number, headers: Record<string, string> = {}, content: object = TEXT) => {
    const body = { instance_id: stage.instance.id, to: testPhone(place), ...content };
    return stage.customer.client.expect<MessageOut>(202, 'POST', '/v1/messages', { body, headers });
  };
  const sendIn = (
    trace: { traceId: string; spanId: string },
    place: number,
    { flags = '01', content = TEXT }: { flags?: string; content?: object } = {},
  ) => send(place, { traceparent: `00-${trace.traceId}-${trace.spanId}-${flags}` }, content);
  const named = (spans: CollectedSpan[], name: string) => spans.filter((span) => span.name === name);
  /** Each span as `service name`, below its parent. */
  const parentage = (spans: CollectedSpan[]): Set<string> => {
    const shown = ({ service, name }: CollectedSpan) => `${service.replace('gwk-', '')} ${name}`;
    const byId = new Map(spans.map((span) => [span.spanId, shown(span)]));
    return new Set(spans.map((span) => `${byId.get(span.parentId) ?? span.parentId} > ${shown(span)}`));
  };
  const webhooksOf = (spans: CollectedSpan[], type: string) =>
    named(spans, 'webhook').filter(({ attributes }) => attributes['gwk.event.type'] === type);
  /** All spans have arrived. Each program exports its spans independently. */
  const isComplete = (spans: CollectedSpan[]) => {
    const known = new Set(spans.map(({ spanId }) => spanId));
    const orphans = new Set(
      spans.map(({ parentId }) => parentId).filter((id) => id !== '' && !known.has(id)),
    );
    return (
      orphans.size <= 1 &&
      named(spans, 'POST /v1/messages').length === 1 &&
      webhooksOf(spans, 'message.sent').length > 0 &&
      webhooksOf(spans, 'message.status_updated').length === 2
    );
  };

  test('the trace of the caller continues from POST through Redis and the internal API to the webhooks', async () => {
    const trace = newTrace();
    // The API has not read the key of the instance yet, so the engine claims this first text.
    const { id } = await sendIn(trace, 1);
    const spans = await collector.trace(
      trace.traceId,
      (seen) => isComplete(seen) && named(seen, 'POST /engine/claims').length > 0,
    );
    expect(parentage(spans)).toEqual(
      new Set([
        `${trace.spanId} > api POST /v1/messages`,
        'api POST /v1/messages > api accept',
        'api accept > api notify',
        'api notify > engine notified',
        'engine notified > engine claim',
        'engine claim > api POST /engine/claims',
        'api accept > api queued',
        'api accept > engine send',
        'engine send > engine build',
        'engine send > engine store',
        'engine send > engine encrypt',
        'engine send > engine acknowledge',
        'engine send > api outcome',
        'api accept > api outcome',
        'api outcome > worker webhook',
      ]),
    );
    const [request] = named(spans, 'POST /v1/messages');
    expect(request!.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/messages',
      'http.response.status_code': 202,
    });
    expect(named(spans, 'send')[0]!.attributes).toEqual({
      'gwk.message.id': id,
      'gwk.message.type': 'text',
      'gwk.result': 'sent',
    });
    for (const { start, end } of spans) expect(end).toBeGreaterThanOrEqual(start);
    const calls = (await stage.receiver.calls()).filter(({ data }) => data['message_id'] === id);
    const given = calls.map(({ traceparent }) => traceparent!.split('-').slice(1, 3).join(' '));
    const attempts = named(spans, 'webhook').map(({ traceId, spanId }) => `${traceId} ${spanId}`);
    expect(given.sort()).toEqual(attempts.sort());
  });

  test('a trace continues through an engine that dies after its claim, and a webhook that is retried', async () => {
    const trace = newTrace();
    const { client } = stage.customer;
    const failing = await client.createWebhook(stage.receiver.url('/sent'), {
      event_types: ['message.sent'],
    });
    await stage.receiver.setRule('/sent', { failures: 1 });
    stage.gateway.arm('engine.after-claim');
    // The engine may build a text from its notification, without a claim.
    await sendIn(trace, 2, {
      content: { type: 'location', location: { latitude: -23.5, longitude: -46.6 } },
    });
    const attemptsIn = (seen: CollectedSpan[]) =>
      webhooksOf(seen, 'message.sent').filter(
        ({ attributes }) => attributes['gwk.endpoint.id'] === failing.id,
      );
    // The killed engine did not export its spans, so their child spans have no parent.
    const spans = await collector.trace(
      trace.traceId,
      (seen) =>
        attemptsIn(seen).length === 2 &&
        webhooksOf(seen, 'message.status_updated').length === 2 &&
        // Programs export independently: the last webhook may arrive before the engine's send.
        named(seen, 'accept').length === 1 &&
        named(seen, 'queued').length === 2 &&
        named(seen, 'send').some((span) =>
          named(seen, 'outcome').some(({ parentId }) => parentId === span.spanId),
        ),
    );
    const accept = named(spans, 'accept')[0]!.spanId;
    expect(stage.gateway.isArmed('engine.after-claim')).toBe(false);
    expect(named(spans, 'queued').map(({ parentId }) => parentId)).toEqual([accept, accept]);
    // The first engine died before it exported its span.
    expect(named(spans, 'send').map(({ parentId }) => parentId)).toEqual([accept]);
    const send = named(spans, 'send')[0]!.spanId;
    const outcome = named(spans, 'outcome').find(({ parentId }) => parentId === send)!.spanId;
    expect(attemptsIn(spans).map(({ parentId }) => parentId)).toEqual([outcome, outcome]);
    const verdicts = attemptsIn(spans).map(({ attributes }) => attributes['gwk.delivery.result']);
    expect(verdicts).toEqual(['retry', 'succeeded']);
    expect((await client.call('DELETE', `/v1/webhook-endpoints/${failing.id}`)).status).toBe(204);
  });

  test('starts a trace if the caller has none or a malformed one, and exports nothing of an unsampled one', async () => {
    const unsampled = newTrace();
    const { id } = await sendIn(unsampled, 3, { flags: '00' });
    await until(async () => (await stage.customer.client.message(id)).status === 'read', {
      what: 'the message is read',
    });
    const before = new Set(collector.spans.map(({ traceId }) => traceId));
    await send(4);
    await send(5, { traceparent: `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01` });
    const begun = await until(
      () => {
        const sends = collector.spans.filter(({ name, traceId }) => name === 'send' && !before.has(traceId));
        return sends.length === 2 && sends;
      },
      { what: 'two traces have started' },
    );
    expect(new Set(begun.map(({ traceId }) => traceId)).size).toBe(2);
    for (const { traceId } of begun) {
      const spans = await collector.trace(
        traceId,
        (seen) => isComplete(seen) && named(seen, 'POST /v1/messages').length > 0,
      );
      expect(named(spans, 'POST /v1/messages')[0]!.parentId).toBe('');
    }
    expect(collector.spans.filter(({ traceId }) => traceId === unsampled.traceId)).toEqual([]);
  });

  test('the collector receives no text, phone number, URL or secret except its own credential', () => {
    const all = Buffer.concat(collector.bodies).toString('utf8');
    expect(collector.spans.length).toBeGreaterThan(20);
    const { key } = stage.customer;
    for (const hidden of [
      SECRET_TEXT,
      testPhone(1),
      testPhone(2),
      key.api_key,
      stage.receiver.url('/all'),
      CREDENTIAL,
    ])
      expect([hidden, all.includes(hidden)]).toEqual([hidden, false]);
    expect(new Set(collector.headers.map(({ authorization }) => authorization))).toEqual(
      new Set([`Bearer ${CREDENTIAL}`]),
    );
    expect(new Set(collector.spans.map(({ service }) => service))).toEqual(
      new Set(['gwk-api', 'gwk-engine', 'gwk-worker']),
    );
  });
});

// prom-client depends on the interface (@opentelemetry/api), which does nothing by itself. Engines do not load even
// that (engine/import-graph.test.ts).
test('programs without a trace endpoint do not load OpenTelemetry', () => {
  const script = `
    import { registerHooks } from 'node:module';
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    await import('@gwk/api/programs/api');
    await import('@gwk/api/programs/worker');
    await import('@gwk/engine-pod/program');
    const { tracing } = await import('@gwk/core/tracing/tracing');
    await tracing.start({}, 'a-test', null);
    process.stdout.write(JSON.stringify([tracing.on, loaded.length > 100, loaded.filter((url) => /@opentelemetry\\/(?!api\\/)|tracing\\/opentelemetry/.test(url))]));
    process.exit(0);
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: join(ROOT, 'test'),
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual([false, true, []]);
});
