import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Person } from '@gwk/network/control/client';
import { pickPort } from '../support/ports.js';
import { baseEnvironment, ROOT } from '../support/program.js';
import { readPageBlocks } from '../support/readme.js';
import { until } from '../support/wait.js';
import { newNumber } from './number-stage.js';
import { SharedGateway } from './shared-gateway.js';
import { joinGateway } from './shared-stage.js';
import type { Customer } from '../support/gateway/customer.js';

/** `gwk` for people who use a gateway, as a user runs it: the bundle in an empty home. */
const PROGRAM = join(ROOT, 'cli/dist/gwk.cjs');

const gateway = SharedGateway.get();
const url = gateway.urls[0]!;
const home = mkdtempSync(join(tmpdir(), 'gwk-cli-'));
const environment: Record<string, string> = {
  ...baseEnvironment(),
  HOME: home,
  XDG_CONFIG_HOME: join(home, 'config'),
};
const open = new Set<Running>();
let customer: Customer;
let phone: Person;
let ana: Person;

/** A command that runs. */
class Running {
  out = '';
  error = '';
  readonly child: ChildProcessWithoutNullStreams;
  readonly ended: Promise<number | null>;

  constructor(args: readonly string[], env: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...environment, ...env } });
    this.child.stdout.on('data', (chunk: Buffer) => (this.out += String(chunk)));
    this.child.stderr.on('data', (chunk: Buffer) => (this.error += String(chunk)));
    this.ended = once(this.child, 'close').then(([code]) => code as number | null);
    open.add(this);
  }
}

async function run(args: readonly string[], input = '', env: Record<string, string> = {}) {
  const command = new Running(args, env);
  command.child.stdin.end(input);
  const code = await command.ended;
  return { code, out: command.out, error: command.error };
}

async function json<T>(...args: string[]): Promise<T> {
  const { code, out, error } = await run([...args, '--json']);
  expect([args, code, error]).toEqual([args, 0, '']);
  return JSON.parse(out) as T;
}

/** The server of docs/tutorials/webhooks.md. */
async function startServer(secret: string): Promise<{ port: number; lines: () => string }> {
  const port = await pickPort();
  const [page] = readPageBlocks('tutorials/webhooks.md', 'js');
  const file = join(home, 'server.mjs');
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'));
  writeFileSync(file, page!);
  const child = spawn(process.execPath, [file], {
    env: { ...environment, GWK_WEBHOOK_SECRET: secret, PORT: String(port) },
  });
  let lines = '';
  child.stdout.on('data', (chunk: Buffer) => (lines += String(chunk)));
  afterAll(() => child.kill('SIGKILL'));
  await until(() => lines.includes('listening'), { what: 'the server listens' });
  return { port, lines: () => lines };
}

beforeAll(async () => {
  customer = await joinGateway(gateway, 'cli');
  phone = await gateway.numbers.phone(newNumber(), { name: 'Shop' });
  ana = await gateway.numbers.contact(newNumber(), { name: 'Ana' });
});
afterAll(() => {
  for (const { child } of open) child.kill('SIGKILL');
  rmSync(home, { recursive: true, force: true });
});

test('before the login a command says what to do, and exits with 3', async () => {
  const { code, error } = await run(['instances', 'list']);
  expect([code, error]).toEqual([3, expect.stringContaining('gwk login')]);
});

test('login refuses a wrong key and stores nothing; then stores a valid one, readable by its owner alone', async () => {
  const wrong = await run(['login', url], `gwk_live_${'x'.repeat(43)}\n`);
  expect([wrong.code, wrong.error]).toEqual([3, expect.stringContaining('/problems/unauthorized')]);
  expect((await json<unknown[]>('profiles')).length).toBe(0);
  const { code, out, error } = await run(['login', url], `${customer.key.api_key}\n`);
  expect([code, error]).toEqual([0, '']);
  expect(out).not.toContain(customer.key.api_key);
  const file = join(home, 'config/gwk/profiles.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).toContain(customer.key.api_key);
  expect((await run(['profiles'])).out).not.toContain(customer.key.api_key);
});

/** Approves a key as the page of the console does. @returns the address to which the page sends the browser */
async function approve(address: URL): Promise<string> {
  const { id, name: account } = customer.account;
  const email = `${id}@example.com`;
  await gateway.gwk('user', 'create', email, '--name', 'Ana', '--account', account, '--role', 'owner');
  const { url: link } = await gateway.gwk<{ url: string }>('user', 'handoff', email);
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${url}/console/api/${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Origin: url, 'X-Gwk-Account': id, ...headers },
      body: JSON.stringify(body),
    });
  const token = new URLSearchParams(new URL(link).hash.slice(1)).get('token');
  const session = await post('session/handoff', { token });
  const { csrf_token } = (await session.json()) as { csrf_token: string };
  const [cookie = ''] = session.headers.getSetCookie().map((line) => line.split(';')[0]!);
  const { challenge, port, name } = Object.fromEntries(new URLSearchParams(address.hash.slice(1)));
  const answer = await post(
    'key-approvals',
    { challenge, name, scopes: ['instances:read'] },
    { Cookie: cookie, 'X-CSRF-Token': csrf_token },
  );
  expect(answer.status).toBe(201);
  return `http://127.0.0.1:${port}/?code=${((await answer.json()) as { code: string }).code}`;
}

test('login gets a key that a person approves in the console; --key and a pipe are as before', async () => {
  const login = new Running(['login', url, '--no-browser', '--profile', 'browser']);
  await until(() => login.error.includes('must show the code'), { what: 'the address is printed' });
  const address = new URL(/http\S+approve-key#\S+/.exec(login.error)![0]);
  expect((await fetch(address)).status).toBe(200);
  const page = await fetch(await approve(address));
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('You can close this page')]);
  expect([await login.ended, login.out]).toEqual([0, expect.stringContaining('Signed in')]);
  const { profiles } = JSON.parse(readFileSync(join(home, 'config/gwk/profiles.json'), 'utf8')) as {
    profiles: Record<string, { key: string }>;
  };
  expect(login.out + login.error).not.toContain(profiles['browser']!.key);
  expect((await run(['instances', 'list'])).code).toBe(0);
  expect(await run(['messages', 'list'])).toMatchObject({ code: 3 });
  expect((await run(['logout', '--profile', 'browser'])).code).toBe(0);
  const piped = await run(['login', url, '--key'], `gwk_live_${'x'.repeat(43)}\n`);
  expect([piped.code, piped.error]).toEqual([3, expect.stringContaining('/problems/unauthorized')]);
});

test('an instance is created, paired by the code in the terminal, and connected', async () => {
  const { id } = await json<{ id: string }>('instances', 'create', 'shop');
  const waiting = await run(['check', 'shop', '--wait', '1s']);
  expect([waiting.code, waiting.error]).toEqual([7, expect.stringContaining('gwk pair')]);
  const pairing = new Running(['pair', 'shop', '--json']);
  await until(() => pairing.out.includes('"qr"'), { what: 'the code is printed' });
  const first = JSON.parse(pairing.out.split('\n')[0]!) as { data: { code: string } };
  await phone.scan(first.data.code);
  expect([await pairing.ended, pairing.error]).toEqual([0, '']);
  expect((await run(['pair', 'shop'])).out).toBe('shop is already connected\n');
  expect((await run(['check', 'shop', '--wait=2m'])).code).toBe(0);
  expect((await run(['instances', 'list'])).out).toMatch(
    new RegExp(`${id}  shop  web   connected  ${phone.number}`),
  );
  expect(await json<{ id: string }>('instances', 'get', 'shop')).toMatchObject({ id, state: 'connected' });
});

test('sends a text and a file, and shows messages', async () => {
  const { id } = await json<{ id: string }>('send', 'Olá!', '--from', 'shop', '--to', `+${ana.number}`);
  await until(async () => (await json<{ status: string }>('messages', 'get', id)).status !== 'queued', {
    what: 'the message leaves',
  });
  const picture = join(ROOT, 'examples/media/photo.jpg');
  const sent = await json<{ type: string }>(
    'send',
    'a photo',
    '--from',
    'shop',
    '--to',
    ana.number,
    '--file',
    picture,
  );
  expect(sent.type).toBe('image');
  const file = ['--file', picture, '--idempotency-key', 'photo-1'];
  const repeat = () => json<{ id: string }>('send', 'once', '--from', 'shop', '--to', ana.number, ...file);
  expect((await repeat()).id).toBe((await repeat()).id);
  const listed = await json<{ id: string }[]>('messages', 'list', '--instance', 'shop', '--limit', '3');
  expect(listed.map((message) => message.id)).toContain(id);
});

test('tail prints events, and listen posts them with a valid signature and again by key', async () => {
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const { port, lines } = await startServer(secret);
  const target = `http://127.0.0.1:${port}`;
  const tail = new Running(['events', 'tail', '--type', 'message.received', '--json', '--count', '1']);
  const listen = new Running(['webhooks', 'listen', '--forward-to', target, '--type', 'message.received'], {
    GWK_WEBHOOK_SECRET: secret,
  });
  await until(() => listen.error.includes('Forwarding'), { what: 'listen has begun' });
  // The streams begin now: events before them do not count. A further message shows that both read.
  await until(
    async () => {
      await ana.writes('quero comprar', { to: phone.number });
      return listen.out.includes('message.received') && tail.child.exitCode === 0;
    },
    { what: 'both have the message' },
  );
  expect(JSON.parse(tail.out)).toMatchObject({ type: 'message.received', data: { text: 'quero comprar' } });
  expect(listen.out).toMatch(/^1 {2}204 {2}\d+ ms {2}message\.received {2}evt_/);
  expect(lines()).toContain('quero comprar');
  listen.child.stdin.write('1\n');
  await until(() => (listen.out.match(/^1 {2}204/gm)?.length ?? 0) === 2, {
    what: 'the event is posted again',
  });
  listen.child.stdin.write('q');
  expect(await listen.ended).toBe(0);
  expect(listen.out + listen.error).not.toContain('quero comprar');

  const env = { GWK_WEBHOOK_SECRET: secret };
  const trigger = (type: string) => run(['webhooks', 'trigger', type, '--forward-to', target], '', env);
  expect((await trigger('message.interactive_reply')).out).toMatch(/^204 /);
  expect(lines()).toContain('message.interactive_reply');
  expect(await trigger('message.unknown')).toMatchObject({
    code: 2,
    error: expect.stringContaining('message.sent'),
  });
});

test('listen ends with an open standard input when the gateway refuses it', async () => {
  const listen = new Running(['webhooks', 'listen', '--forward-to', 'http://127.0.0.1:1', '--type', 'x']);
  expect(await listen.ended).toBe(5);
  expect(listen.error).toContain('Request: ');
});

test('trigger names the types of events in the document', async () => {
  const { error } = await run(['webhooks', 'trigger', 'x', '--forward-to', 'http://127.0.0.1:1']);
  const types = error
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  expect(types.length).toBeGreaterThan(20);
});

test('doctor names address, clock, version, key and instances', async () => {
  const findings = await json<{ check: string; result: string }[]>('doctor');
  expect(findings.map(({ check, result }) => `${check} ${result}`)).toEqual([
    ...['address ok', 'tls ok', 'clock ok', 'version ok', 'key ok', 'instance shop ok'],
  ]);
  const closed = await run(['doctor'], '', { GWK_URL: 'http://127.0.0.1:1' });
  expect([closed.code, closed.out]).toEqual([6, expect.stringContaining('does not answer')]);
});

test.each([
  ['an unknown command', ['nothing'], 2, 'unknown command'],
  ['a missing option', ['send', 'oi'], 2, '--from'],
  ['an unknown resource', ['messages', 'get', `msg_${'0'.repeat(32)}`], 4, '/problems/not-found'],
  ['a refused request', ['messages', 'list', '--status', 'lost'], 5, 'Request: '],
  ['a command of the server', ['account', 'create', 'x', '--help'], 2, 'is part of the server'],
])('%s exits by its kind', async (_, args, code, text) => {
  expect(await run(args)).toMatchObject({ code, error: expect.stringContaining(text) });
});

test.each(['bash', 'zsh', 'fish'])('prints the completion of %s', async (shell) => {
  expect((await run(['completion', shell])).out).toContain('gwk __complete');
  expect((await run(['__complete', 'web'])).out).toBe('webhooks\n');
});

test('delete asks for a confirmation; logout forgets the key', async () => {
  for (const verb of ['logout', 'delete'])
    expect(await run(['instances', verb, 'shop'])).toMatchObject({
      code: 2,
      error: expect.stringContaining(url),
    });
  expect((await run(['instances', 'delete', 'shop', '--yes'])).code).toBe(0);
  expect((await run(['logout'])).code).toBe(0);
  expect((await run(['instances', 'list'])).code).toBe(3);
});

/** Types the commands of docs/quickstart.md and docs/tutorials/webhooks.md as they stand there. The executable of `make cli` is the bundle here. */
test('a reader of the quick start signs in, pairs, sends and receives', async () => {
  const folder = join(home, 'reader');
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  symlinkSync(PROGRAM, join(bin, 'gwk'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'key'), customer.key.api_key);
  writeFileSync(join(folder, 'server.mjs'), readPageBlocks('tutorials/webhooks.md', 'js')[0]!);
  const port = await pickPort();
  const env = {
    ...environment,
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    PATH: `${bin}:${environment['PATH']}`,
    GWK_ADDRESS: url,
    RECIPIENT: ana.number,
    PORT: String(port),
  };
  const [, login, pair, send, ...others] = readPageBlocks('quickstart.md', 'sh');
  const [receive, ...more] = readPageBlocks('tutorials/webhooks.md', 'sh');
  expect([...others, ...more]).toEqual([]);
  const type = (block: string) => {
    const child = spawn('bash', ['-ec', block.replaceAll('3000', String(port))], {
      cwd: folder,
      env,
      detached: true,
    });
    const typed = { child, out: '', ended: once(child, 'close').then(([code]) => code as number | null) };
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (typed.out += String(chunk)));
    return typed;
  };
  const signIn = type(login!);
  expect([await signIn.ended, signIn.out]).toEqual([0, expect.stringContaining('Signed in')]);

  const linked = type(pair!);
  await until(() => linked.out.includes('scan this'), { what: 'the QR code is in the terminal' });
  const [instance] = (await customer.client.expect<{ data: { id: string }[] }>(200, 'GET', '/v1/instances'))
    .data;
  const shown = await customer.client.expect<{ qr: { code: string } }>(
    200,
    'GET',
    `/v1/instances/${instance!.id}/pairing`,
  );
  const reader = await gateway.numbers.phone(newNumber(), { name: 'Reader' });
  await reader.scan(shown.qr.code);
  expect([await linked.ended, linked.out]).toEqual([
    0,
    expect.stringMatching(/quickstart is connected\n.*ready/s),
  ]);

  const sent = type(send!);
  expect([await sent.ended, sent.out]).toEqual([0, expect.stringContaining('outbound')]);

  const posted = /^\d+ {2}204 {2}\d+ ms {2}message\.received {2}evt_/m;
  const listening = type(receive!);
  try {
    await until(
      async () => {
        await ana.writes('a first answer', { to: reader.number });
        return posted.test(listening.out) && listening.out.includes('a first answer message.received');
      },
      { what: 'the server and gwk print the message' },
    );
  } finally {
    process.kill(-listening.child.pid!, 'SIGKILL');
  }
});

test('the program contains neither the engine nor a library of it', () => {
  const modules = JSON.parse(readFileSync(join(ROOT, 'cli/dist/modules.json'), 'utf8')) as string[];
  expect(modules.length).toBeGreaterThan(20);
  const packages = new Set(
    modules.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  );
  expect([...packages].filter((name) => /baileys|libsignal|sharp|prisma|^pg$|redis/.test(name))).toEqual([]);
  const folders = modules.flatMap((path) => new RegExp(`^${ROOT}([^/]+)`).exec(path)?.[1] ?? []);
  expect(
    [...new Set(folders)].filter((name) => !['cli', 'node_modules', 'core', 'sdk'].includes(name)),
  ).toEqual([]);
});
