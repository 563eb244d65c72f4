import { randomBytes } from 'node:crypto';
import { fromPublicId } from '@gwk/core/ids/ids';
import { GatewayClient } from '../support/gateway/client.js';
import { newKey } from '../support/gateway/customer.js';
import { impersonateEngine } from './impersonation.js';
import { readEnvironment } from '../support/processes.js';
import { exchangeRaw } from '../support/hostile/raw-http.js';
import { openStage, type Stage } from '../support/gateway/stage.js';
import { toChatId, testPhone } from '../support/gateway/traffic.js';
import { report, settle } from '../support/gateway/check-traffic.js';
import { until } from '../support/wait.js';

/** Part of every message text. */
const MARKER = `marker-${randomBytes(8).toString('hex')}`;
const FAILING = '44770091110002';

interface LogLine {
  program: string;
  text: string;
  fields: Record<string, unknown> | undefined;
}

describe('logs', () => {
  let stage: Stage;
  let lines: LogLine[];
  let accepted: { message: string; request: string };
  const secrets = new Map<string, string>();

  beforeAll(async () => {
    stage = await openStage('logs', {
      settings: {
        api: { GWK_LOG_LEVEL: 'debug' },
        worker: { GWK_LOG_LEVEL: 'debug' },
        operator: { GWK_LOG_LEVEL: 'debug' },
      },
      ownPostgres: true,
      ownRedis: true,
    });
    const { settings } = stage.gateway;
    secrets.set('marker', MARKER);
    secrets.set('API key', stage.customer.key.api_key);
    secrets.set('encryption key', settings.encryptionKeys);
    secrets.set('operator token', settings.operatorToken);
    secrets.set('local token', settings.localToken);
    secrets.set('URL of Postgres', settings.databaseUrl);
    secrets.set('URL of Redis', settings.redisUrl);
    await coverPaths();
    // Errors during outages are logged, too.
    await causeOutages();
    await receiveMessages();
    lines = [...stage.gateway.logs()].flatMap(([program, texts]) =>
      texts.map((text) => ({ program, text, fields: fieldsOf(text) })),
    );
  });
  afterAll(() => stage?.close());

  function fieldsOf(text: string): Record<string, unknown> | undefined {
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch {
      return undefined;
    }
  }

  async function coverPaths(): Promise<void> {
    const { customer, receiver, gateway, instance } = stage;
    const { client } = customer;
    const path = `/hook/${MARKER}`;
    const hook = await client.createWebhook(`${receiver.url(path)}?secret=${MARKER}`, {
      description: MARKER,
    });
    secrets.set('webhook secret', hook.secret!.replace('whsec_', ''));
    await receiver.setRule(path, { failures: 2, status: 500 });
    const key = `key-${MARKER}`;
    const first = await client.sendText(instance.id, testPhone(1), `text ${MARKER}`, key);
    accepted = { message: first.body.id, request: String(first.headers['x-request-id']) };
    await client.sendText(instance.id, testPhone(1), `text ${MARKER}`, key);
    await client.sendText(instance.id, testPhone(1), `another ${MARKER}`, key);
    await gateway.network.setRule({ code: 'wa_error' }, toChatId(FAILING));
    await client.acceptedText(instance.id, FAILING, `fails ${MARKER}`);
    await sendRefusedRequests(client);
    const other = await newKey(gateway, 'logs', 'all', '--name', 'to be revoked');
    secrets.set('revoked key', other.api_key);
    await gateway.gwk('key', 'revoke', other.id);
    const revoked = new GatewayClient(gateway.urls[0]!, other.api_key);
    await until(async () => (await revoked.call('GET', '/v1/instances')).status === 401, {
      what: 'the key is revoked',
    });
    revoked.close();
    await settle(stage.witnesses);
  }

  async function sendRefusedRequests(client: GatewayClient): Promise<void> {
    const { instance, gateway } = stage;
    const send = (body: unknown) => client.call('POST', '/v1/messages', { body });
    const good = { instance_id: instance.id, to: testPhone(1), type: 'text', text: { body: MARKER } };
    await send(`{"text": "${MARKER}`);
    await send({ ...good, [MARKER]: MARKER });
    await send({ ...good, to: MARKER });
    await send({ ...good, text: { body: `${MARKER}\u0000` } });
    await send({ ...good, instance_id: MARKER });
    await client.call('GET', `/v1/messages?cursor=${MARKER}`);
    await client.call('GET', `/v1/${MARKER}?query=${MARKER}`);
    await client.call('POST', '/v1/webhook-endpoints', { body: { url: `http://10.0.0.1/${MARKER}` } });
    await client.call('PATCH', `/v1/instances/${instance.id}`, {
      body: { policy: { opt_out: { keywords: [MARKER.repeat(5)] } } },
    });
    await client.call('GET', '/v1/instances', { headers: { authorization: `Bearer gwk_live_${MARKER}` } });
    await exchangeRaw(gateway.urls[0]!, `GET /${MARKER} HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n`);
  }

  /** Sends during an outage of each part. */
  async function causeOutages(): Promise<void> {
    const { gateway, customer, instance } = stage;
    const send = (index: number) =>
      customer.client
        .sendText(instance.id, testPhone(index), `outage ${MARKER}`, `outage-${index}-${MARKER}`)
        .catch(() => undefined);
    await gateway.redis.kill('SIGKILL');
    await Promise.all([send(2), send(3)]);
    await gateway.redis.start();
    await gateway.postgres.kill('SIGKILL');
    await Promise.all([send(4), send(5)]);
    await gateway.postgres.start();
    const engine = await gateway.engine();
    process.kill(engine.pid, 'SIGKILL');
    await gateway.ready();
    await until(async () => (await send(6))?.status === 202, { what: 'sends are accepted again' });
    await settle(stage.witnesses);
  }

  /** Reports an inbound message like an engine, and sends calls that the internal API rejects. */
  async function receiveMessages(): Promise<void> {
    const { gateway, instance, customer } = stage;
    for (const { pid } of gateway.engines()) {
      secrets.set('token of an engine', readEnvironment(pid).get('GWK_ENGINE_TOKEN')!);
    }
    const listener = await impersonateEngine(gateway, instance.id, 'listener');
    const { engine, lease, acquired } = listener;
    secrets.set('password of an engine in Redis', acquired.redis.password!);
    secrets.set('command key', acquired.command_key);
    const chat = toChatId(testPhone(1));
    const message = {
      wa_message_id: 'IN1',
      chat,
      from: chat,
      from_name: MARKER,
      from_me: false,
      at: new Date().toISOString(),
      type: 'text' as const,
      text: `received ${MARKER}`,
      quoted_wa_message_id: null,
    };
    await engine.call('inbound', { ...lease, messages: [message] });
    const wrong = { ...message, [MARKER]: MARKER, at: MARKER };
    await engine.call('inbound', { ...lease, messages: [wrong] }).catch(() => undefined);
    const value = Buffer.from(MARKER).toString('base64');
    await engine.call('session-write', {
      ...lease,
      number: 1,
      entries: [{ type: 'creds', key: MARKER, value }],
    });
    listener.close();
    const received = async () => (await customer.client.events({ type: 'message.received' })).length > 0;
    await until(received, { what: 'the message has been received' });
    await settle(stage.witnesses);
    await gateway.operator.kill('SIGCONT');
  }

  test('no log line contains a key, a secret or a message text', () => {
    const found = [...secrets].flatMap(([name, secret]) =>
      lines
        .filter(({ text }) => text.includes(secret))
        .map(({ program, text }) => `${name} in ${program}: ${text}`),
    );
    report('logs of all processes', { lines: lines.length, secrets: secrets.size, found: found.length });
    expect(found).toEqual([]);
  });

  test('every line is JSON with level, time and program', () => {
    const wrong = lines.filter(({ fields }) => !fields?.['level'] || !fields['time'] || !fields['program']);
    expect(wrong.map(({ program, text }) => `${program}: ${text}`)).toEqual([]);
    const programs = new Set(lines.map(({ fields }) => fields?.['program']));
    expect([...programs].sort()).toEqual(['api', 'decoder', 'engine', 'operator', 'worker']);
  });

  test('finds a request by its id, and the message that it created', () => {
    const about = lines.filter(({ fields }) => fields?.['request_id'] === accepted.request);
    expect(about.map(({ fields }) => fields)).toEqual([
      expect.objectContaining({
        program: 'api',
        status: 202,
        account_name: 'logs',
        key_id: expect.stringMatching(/^key_[0-9a-f]{32}$/) as string,
        subject: accepted.message,
      }),
    ]);
    const answered = lines.filter(({ fields }) => fields?.['msg'] === 'answered');
    expect(answered.filter(({ fields }) => typeof fields?.['request_id'] !== 'string')).toEqual([]);
  });

  test('log lines of an engine name its instance', () => {
    const said = lines.filter(
      ({ fields }) => fields?.['program'] === 'engine' && fields['epoch'] !== undefined,
    );
    const instance = fromPublicId('instance', stage.instance.id);
    expect(said.length).toBeGreaterThan(0);
    expect(said.filter(({ fields }) => fields?.['instance_id'] !== instance)).toEqual([]);
  });
});
