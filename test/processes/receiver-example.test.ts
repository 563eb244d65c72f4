import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { generateWebhookSecret } from '@gwk/api/webhooks/signature';
import { Webhook } from 'standardwebhooks';
import { pickPort } from '../support/ports.js';
import { baseEnvironment, ROOT } from '../support/program.js';
import { until } from '../support/wait.js';

/** Starts examples/webhook-receiver.js and calls it with requests signed by the library of Standard Webhooks. */
const SECRET = generateWebhookSecret();
const ID = 'evt_0123456789abcdef0123456789abcdef';
const BODY = JSON.stringify({
  type: 'webhook.test',
  timestamp: '2026-11-21T12:00:00.000Z',
  data: { text: 'açaí' },
});
const MINUTE = 60_000;

let receiver: ChildProcess;
let url: string;
let said = '';

beforeAll(async () => {
  const port = await pickPort();
  url = `http://127.0.0.1:${port}/`;
  receiver = spawn(process.execPath, [join(ROOT, 'examples/webhook-receiver.js'), String(port), SECRET], {
    env: baseEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  receiver.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await until(() => said.includes('listening'), { what: 'the receiver listens' });
});
afterAll(async () => {
  const ended = new Promise((resolve) => receiver.once('exit', resolve));
  receiver.kill();
  await ended;
});

interface Sent {
  body: string;
  headers: Record<string, string>;
}

function signed(secret = SECRET, at = new Date()): Sent {
  const signature = new Webhook(secret).sign(ID, at, BODY);
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const headers = { 'webhook-id': ID, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  return { body: BODY, headers };
}
const changed = (sent: Sent, headers: Record<string, string>): Sent => ({
  ...sent,
  headers: { ...sent.headers, ...headers },
});
const post = async ({ body, headers }: Sent) => (await fetch(url, { method: 'POST', body, headers })).status;
const ago = (ms: number) => new Date(Date.now() - ms);
const ours = () => signed().headers['webhook-signature']!;
const theirs = () => signed(generateWebhookSecret()).headers['webhook-signature']!;

test.each<[string, () => Sent]>([
  ['signed with its secret', () => signed()],
  [
    'also signed with the former secret',
    () => changed(signed(), { 'webhook-signature': `${theirs()} ${ours()}` }),
  ],
  ['four minutes old', () => signed(SECRET, ago(4 * MINUTE))],
])('accepts a call %s', async (_sentence, make) => {
  said = '';
  expect(await post(make())).toBe(200);
  await until(() => said.includes(`signature ok ${ID} ${BODY}`), { what: 'the event is printed' });
});

test.each<[string, () => Sent]>([
  ['signed with another secret', () => signed(generateWebhookSecret())],
  ['with a changed body', () => ({ ...signed(), body: `${BODY} ` })],
  ['with a changed id', () => changed(signed(), { 'webhook-id': 'evt_1' })],
  ['with a changed timestamp', () => changed(signed(SECRET, ago(10_000)), { 'webhook-timestamp': signed().headers['webhook-timestamp']! })], // prettier-ignore
  ['six minutes old', () => signed(SECRET, ago(6 * MINUTE))],
  ['from the future', () => signed(SECRET, ago(-6 * MINUTE))],
  ['without a timestamp', () => changed(signed(), { 'webhook-timestamp': '' })],
  ['without a signature', () => ({ ...signed(), headers: { 'webhook-id': ID } })],
  ['with a random signature', () => changed(signed(), { 'webhook-signature': `v1,${randomBytes(32).toString('base64')}` })], // prettier-ignore
])('rejects a call %s', async (_sentence, make) => {
  expect(await post(make())).toBe(401);
});
