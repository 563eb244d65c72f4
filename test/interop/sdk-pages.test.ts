import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { generateWebhookSecret } from '@gwk/api/webhooks/signature';
import { newCustomer, type Customer } from '../support/gateway/customer.js';
import { Gateway } from '../support/gateway/gateway.js';
import { buildOnce, goVersion, type GoModule } from '../support/kubernetes/go-modules.js';
import { findPhp, hasPhp } from '../support/php.js';
import { pickPort } from '../support/ports.js';
import { baseEnvironment, ROOT } from '../support/program.js';
import { runTool } from '../support/python.js';
import { readPageBlocks } from '../support/readme.js';
import { until } from '../support/wait.js';

// The clients and receivers of docs/sdk-go.md, docs/sdk-php.md and docs/tutorials/webhooks.md, with deliveries of a
// running gateway, and the client for TypeScript on the platforms that docs/sdk-typescript.md names beside Node.

const SOURCES = join(ROOT, 'test/interop/generators');
const OAPI_CODEGEN: GoModule = {
  name: 'oapi-codegen',
  place: 'oapi-codegen',
  sources: SOURCES,
  files: [],
  version: 'a generator of clients',
  builds: [
    {
      args: ['-buildvcs=false'],
      output: 'oapi-codegen',
      packages: ['github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen'],
    },
  ],
};
const FRIEND = '5511987650277';

const mustRun = process.env['CI'] === 'true';
const hasGo = goVersion() !== null;
const withGo = hasGo || mustRun ? test : test.skip;
const withPhp = hasPhp || mustRun ? test : test.skip;

interface Delivery {
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const folder = mkdtempSync(join(tmpdir(), 'gwk-pages-'));
let gateway: Gateway;
let customer: Customer;
let instance: string;
let secret: string;
let delivery: Delivery;

beforeAll(async () => {
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  gateway = await Gateway.start();
  customer = await newCustomer(gateway, 'pages');
  instance = (await customer.client.connectedInstance('pages')).id;
  ({ secret, delivery } = await receiveDelivery());
});
afterAll(async () => {
  customer?.close();
  await gateway?.stop();
  rmSync(folder, { recursive: true });
});

/** A received message, as the gateway posted it. */
async function receiveDelivery(): Promise<{ secret: string; delivery: Delivery }> {
  const received = Promise.withResolvers<Delivery>();
  const server = createServer((request, response) => {
    void buffer(request).then((body) => {
      received.resolve({ headers: request.headers, body });
      response.writeHead(204).end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  server.unref();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const endpoint = await customer.client.createWebhook(url, { event_types: ['message.received'] });
  const text = { from: FRIEND, text: 'Olá' };
  await customer.client.expect(200, 'POST', `/v1/instances/${instance}/sandbox/inbound`, { body: text });
  const result = await received.promise;
  server.close();
  return { secret: endpoint.secret!, delivery: result };
}

/**
 * Posts a delivery, and the same one with a changed byte, a changed time and another secret's key.
 * @param large status for a body over 1 MiB
 * @param isRepeatedOnce whether a second delivery of an event does nothing
 */
async function checkReceiver(
  command: string,
  args: string[],
  {
    env = {},
    large,
    isRepeatedOnce,
  }: { env?: Record<string, string>; large: number; isRepeatedOnce?: boolean },
): Promise<void> {
  const start = async (key: string) => {
    const port = String(await pickPort());
    const child = spawn(command, [...args.map((arg) => arg.replace('PORT', port))], {
      cwd: folder,
      env: { ...baseEnvironment(), ...env, GWK_WEBHOOK_SECRET: key, PORT: port },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += String(chunk)));
    const ended = once(child, 'close');
    const post = async (body: Buffer, headers = {}) => {
      const signed = Object.entries({ ...delivery.headers, ...headers }).filter(([name]) =>
        name.startsWith('webhook-'),
      ) as [string, string][];
      const request = { method: 'POST', headers: Object.fromEntries(signed), body: new Uint8Array(body) };
      return (await fetch(`http://127.0.0.1:${port}/webhooks`, request)).status;
    };
    await until(async () => (await post(Buffer.from('{}'), { 'webhook-id': 'evt_1' })) === 401, {
      what: 'the receiver listens',
      giveUp: () => (child.exitCode === null ? undefined : output),
    });
    const stop = () => (child.kill(), ended);
    return { post, stop, output: () => output };
  };
  const { body, headers } = delivery;
  const receiver = await start(secret);
  const other = await start(generateWebhookSecret());
  try {
    expect(await receiver.post(body)).toBe(204);
    await until(() => receiver.output().includes(`${String(headers['webhook-id'])} Olá`), {
      what: 'the text is printed',
    });
    if (isRepeatedOnce) {
      expect(await receiver.post(body)).toBe(204);
      expect(receiver.output().split(String(headers['webhook-id']))).toHaveLength(2);
    }
    const changed = Buffer.from(body);
    changed[changed.lastIndexOf('O')] = 'o'.charCodeAt(0);
    expect(await receiver.post(changed)).toBe(401);
    const later = String(Number(headers['webhook-timestamp']) + 1);
    expect(await receiver.post(body, { 'webhook-timestamp': later })).toBe(401);
    expect(await other.post(body)).toBe(401);
    expect(await receiver.post(Buffer.alloc(2 ** 20 + 1))).toBe(large);
  } finally {
    await Promise.all([receiver.stop(), other.stop()]);
  }
}

async function generateGoClient(): Promise<string> {
  const tool = await buildOnce(OAPI_CODEGEN, (line) => process.stderr.write(`${line}\n`));
  const [generate] = readPageBlocks('sdk-go.md', 'sh');
  const module = readFileSync(join(SOURCES, 'go.mod'), 'utf8');
  for (const [, path, version] of generate!.matchAll(/ (github\S+?)(?:\/cmd\S+)?@(\S+)/g))
    expect(module).toContain(`${path} ${version}`);
  writeFileSync(join(folder, 'go.mod'), module.replace(/^module .*$/m, 'module example.com/shop'));
  copyFileSync(join(SOURCES, 'go.sum'), join(folder, 'go.sum'));
  const document = await fetch(`${gateway.urls[0]}/openapi.json`);
  writeFileSync(join(folder, 'openapi.json'), await document.text());
  for (const name of ['gwk', 'send', 'receive']) mkdirSync(join(folder, name));
  const [, options] = /^go tool oapi-codegen (.*)$/m.exec(generate!)!;
  return runTool(join(tool, 'oapi-codegen'), options!.split(' '), { cwd: folder });
}

withGo(
  hasGo ? 'Go sends and receives' : 'Go sends and receives (needs Go, which is not installed here)',
  async () => {
    expect(await generateGoClient()).not.toMatch(/warn|skipp|unsupported|missing|fail/i);
    const client = readFileSync(join(folder, 'gwk/gwk.go'), 'utf8');
    // A name that the generator made up.
    expect(client).not.toMatch(/Type\d|_type_\d/);
    const [send, receive, ...others] = readPageBlocks('sdk-go.md', 'go');
    expect(others).toEqual([]);
    writeFileSync(join(folder, 'send/main.go'), send!);
    writeFileSync(join(folder, 'receive/main.go'), receive!);
    const modules = [...readPageBlocks('sdk-go.md', 'sh')[0]!.matchAll(/ (github\S+)@/g)].map(
      ([, path]) => path!,
    );
    const imported = [...`${client}${send}${receive}`.matchAll(/"(github\.com\/[^"]+)"/g)].map(
      ([, path]) => path!,
    );
    expect(imported.filter((path) => !modules.some((one) => path.startsWith(one)))).toEqual([]);
    runTool('go', ['build', '-trimpath', '-o', `${folder}/bin/`, './...'], { cwd: folder });

    const env = {
      GWK_ADDRESS: gateway.urls[0]!,
      GWK_API_KEY: customer.key.api_key,
      INSTANCE: instance,
      RECIPIENT: FRIEND,
    };
    const child = spawn(join(folder, 'bin/send'), { env: { ...baseEnvironment(), ...env } });
    const [output] = await Promise.all([buffer(child.stdout), once(child, 'close')]);
    expect(String(output)).toMatch(/^msg_[0-9a-f]{32} \w+\n$/);
    await checkReceiver(join(folder, 'bin/receive'), [], { large: 413 });
  },
);

withPhp(
  hasPhp ? 'PHP receives' : 'PHP receives (needs PHP or apt, which are not installed here)',
  async () => {
    const [send, receive] = readPageBlocks('sdk-php.md', 'php');
    writeFileSync(join(folder, 'send.php'), send!);
    writeFileSync(join(folder, 'receive.php'), receive!);
    const { command, env } = findPhp();
    for (const file of ['send.php', 'receive.php'])
      runTool(command, ['-n', '-l', join(folder, file)], { env });
    await checkReceiver(command, ['-n', '-S', '127.0.0.1:PORT', 'receive.php'], { env, large: 401 });
  },
);

test('Node receives, and works once for each event', async () => {
  const [server, ...others] = readPageBlocks('tutorials/webhooks.md', 'js');
  expect(others).toEqual([]);
  writeFileSync(join(folder, 'server.mjs'), server!);
  await checkReceiver(process.execPath, ['server.mjs'], { large: 413, isRepeatedOnce: true });
});

const PLATFORMS: [name: string, program: string, ...args: string[]][] = [
  // Its .bin/bun would need a script at installation.
  ['Bun', globSync('@oven/bun-*/bin/bun', { cwd: join(ROOT, 'node_modules') })[0]!],
  ['Deno', '.bin/deno', 'run', '--no-config', '--node-modules-dir=manual', '--allow-all'],
];

test.each(PLATFORMS)('the client for TypeScript works on %s', async (_, program, ...args) => {
  copyFileSync(join(ROOT, 'test/interop/sdk-runtime.mjs'), join(folder, 'runtime.mjs'));
  writeFileSync(join(folder, 'note.txt'), 'File');
  const { headers, body } = delivery;
  writeFileSync(join(folder, 'delivery.json'), JSON.stringify({ headers, body: String(body), secret }));
  const env = {
    GWK_ADDRESS: gateway.urls[0]!,
    GWK_API_KEY: customer.key.api_key,
    INSTANCE: instance,
    RECIPIENT: FRIEND,
    FILE: join(folder, 'note.txt'),
    DELIVERY: join(folder, 'delivery.json'),
  };
  const child = spawn(join(ROOT, 'node_modules', program), [...args, 'runtime.mjs'], {
    cwd: folder,
    env: { ...baseEnvironment(), ...env },
  });
  const [output, fault] = await Promise.all([
    buffer(child.stdout),
    buffer(child.stderr),
    once(child, 'close'),
  ]);
  expect([String(output), String(fault)]).toEqual([expect.stringMatching(/^\{.*\}\n$/), '']);
  expect(JSON.parse(String(output))).toEqual({
    sizes: [4, 4, 6],
    isFollowed: true,
    listed: 1,
    isApiError: true,
    text: 'Olá',
  });
});
