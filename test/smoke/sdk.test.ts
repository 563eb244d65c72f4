import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { ApiError, Gwk, OPERATIONS, WebhookVerificationError } from '@gwk/client';
import ts from 'typescript';
import { typeTutorial } from '../support/docs/tutorial.js';
import { pickPort } from '../support/ports.js';
import { ROOT } from '../support/program.js';
import { until } from '../support/wait.js';
import { openSharedStage, type SharedStage } from './shared-stage.js';

const PAGE = join(ROOT, 'docs/sdk-typescript.md');
const FRIEND = '5511987650077';
const PHONE = '5511987650078';
const READER = '5511987650079';
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe('the client for TypeScript', () => {
  let stage: SharedStage;
  let client: Gwk;
  /** Operations of which a call was answered by their own code. */
  const called = new Set<string>();

  beforeAll(async () => {
    stage = await openSharedStage('sdk');
    const options = {
      baseUrl: stage.gateway.urls[0]!,
      apiKey: stage.customer.key.api_key,
      fetch: (request: Request) => {
        called.add(findOperation(request));
        return fetch(request);
      },
    };
    client = new Gwk(options);
  });

  const send = (body: string) =>
    client.messages.send({ instance_id: stage.instance.id, to: FRIEND, type: 'text', text: { body } });
  const untilLeft = (id: string) =>
    until(async () => !['queued', 'sending'].includes((await client.messages.get(id)).status), {
      what: `${id} left`,
    });
  const codeOf = (call: Promise<unknown>) =>
    call.then(
      () => 'none',
      (error: unknown) => (error instanceof ApiError ? error.code : String(error)),
    );

  test('sends, lists, changes and deletes messages', async () => {
    const { id } = await send('One');
    await untilLeft(id);
    await expect(client.messages.edit(id, { text: 'Two' })).resolves.toMatchObject({ id });
    await client.messages.react(id, { emoji: '👍' });
    await client.messages.delete(id);
    const second = await send('Three');
    const ids: string[] = [];
    for await (const message of client.messages.list({ instance_id: stage.instance.id, limit: 1 }))
      ids.push(message.id);
    expect(ids).toEqual(expect.arrayContaining([id, second.id]));
  });

  test('repeats a request with an own key', async () => {
    const body = {
      instance_id: stage.instance.id,
      to: FRIEND,
      type: 'text',
      text: { body: 'Once' },
    } as const;
    const first = await client.messages.send(body, { idempotencyKey: 'order-1' });
    await expect(client.messages.send(body, { idempotencyKey: 'order-1' })).resolves.toMatchObject({
      id: first.id,
    });
  });

  test('uploads from bytes, a stream and a path', async () => {
    const bytes = Buffer.from(PNG, 'base64');
    const { id } = await client.media.upload({ file: new Blob([bytes]), filename: 'a.png' });
    const streamed = await client.media.upload({ file: new Blob([bytes]).stream(), filename: 'b.png' });
    const fromPath = await client.media.upload({ file: { path: join(ROOT, 'docs/pictures/overview.png') } });
    expect(streamed).toMatchObject({ mimetype: 'image/png', filename: 'b.png' });
    expect(fromPath).toMatchObject({ mimetype: 'image/png', filename: 'overview.png' });
    await expect(client.media.get(id)).resolves.toMatchObject({ size: bytes.length });
  });

  test('creates, reads, changes and deletes instances', async () => {
    const { id } = await client.instances.create({ name: 'sdk second', kind: 'sandbox' });
    await client.instances.update(id, { name: 'sdk renamed' });
    await expect(client.instances.get(id)).resolves.toMatchObject({ name: 'sdk renamed' });
    await expect(client.instances.getHealth(id)).resolves.toMatchObject({ instance_id: id });
    await client.instances.getAvailability(id);
    await client.instances.getPolicy(id);
    const page = await client.instances.list();
    expect(page.data.map((instance) => instance.id)).toContain(id);
    await client.instances.restart(id);
    await client.instances.delete(id);
  });

  test('pairs, step by step', async () => {
    const { id } = await client.instances.create({ name: 'sdk paired', kind: 'sandbox' });
    await until(async () => (await client.instances.get(id)).state === 'connected', { what: 'connected' });
    await expect(codeOf(client.instances.startPairing(id))).resolves.toBe('already-paired');
    await client.instances.logout(id);
    const steps: string[] = [];
    for await (const { step } of client.instances.pair(id)) {
      steps.push(step);
      if (step === 'qr') await stage.network.phone(id, { kind: 'scan' });
    }
    expect(steps[0]).toBe('qr');
    expect(steps.at(-1)).toBe('connected');
    await client.instances.getPairing(id);
    const credential = { id: 'AQ', rawId: 'AQ', type: 'public-key', response: {} };
    await expect(codeOf(client.instances.answerPasskey(id, { credential } as never))).resolves.not.toBe(
      'none',
    );
    await expect(codeOf(client.instances.confirmPasskey(id))).resolves.toBe('passkey-not-awaited');
  });

  test('reads contacts and groups, and marks chats', async () => {
    const { id } = stage.instance;
    await expect(client.instances.checkContact(id, FRIEND)).resolves.toMatchObject({ exists: true });
    const groups = await client.instances.listGroups(id);
    await codeOf(client.instances.getGroup(id, groups.data[0]?.jid ?? '120363041234567890@g.us'));
    const inbound = await client.instances.simulateInbound(id, { from: FRIEND, text: 'Hello' });
    await client.instances.markRead(id, FRIEND, { wa_message_ids: [inbound.wa_message_id!] });
    const conversations = await client.conversations.list({ instance_id: id });
    const found = conversations.data.find(({ contact }) => contact?.phone === FRIEND)!;
    expect(found).toMatchObject({ kind: 'contact', unread_count: 0 });
    await expect(client.conversations.get(found.id)).resolves.toEqual(found);
    const messages = await client.messages.list({ conversation: found.id });
    expect(messages.data.map((message) => message.to)).toContain(FRIEND);
    const contacts = await client.contacts.list({ search: FRIEND });
    expect(contacts.data.map(({ phone }) => phone)).toContain(FRIEND);
    await client.instances.setPresence(id, FRIEND, { state: 'typing' });
    await expect(client.status.getInteractive()).resolves.toHaveProperty('formats');
  });

  test('records and removes opt-outs', async () => {
    await client.optOuts.create({ phone: PHONE });
    await expect(client.optOuts.list({ phone: PHONE })).resolves.toMatchObject({ data: [{ phone: PHONE }] });
    const refused = client.messages.send({
      instance_id: stage.instance.id,
      to: PHONE,
      type: 'text',
      text: { body: 'x' },
    });
    await expect(codeOf(refused)).resolves.toBe('contact-opted-out');
    await client.optOuts.delete(PHONE);
  });

  test('lists, reads, streams and follows events', async () => {
    const stop = AbortSignal.timeout(60_000);
    await send('An event');
    for await (const { event } of client.events.follow({ after: 'oldest' }, { signal: stop })) {
      await expect(client.events.get(event.id)).resolves.toMatchObject({ type: event.type });
      break;
    }
    for await (const { event, id } of client.events.stream({ after: 'oldest' }, { signal: stop })) {
      expect([typeof event, typeof id]).toEqual(['string', 'string']);
      break;
    }
    const seen: string[] = [];
    for await (const { type } of client.events.list({ after: 'oldest', limit: 2 })) seen.push(type);
    expect(seen).toContain('message.sent');
  });

  test('manages webhooks and their deliveries', async () => {
    const url = stage.receiver.url(`${stage.path}/sdk`);
    const { id } = await client.webhookEndpoints.create({ url });
    await client.webhookEndpoints.update(id, { description: 'sdk' });
    await expect(client.webhookEndpoints.get(id)).resolves.toMatchObject({ description: 'sdk' });
    expect((await client.webhookEndpoints.list()).length).toBeGreaterThan(1);
    await client.webhookEndpoints.rotateSecret(id);
    const delivery = await client.webhookEndpoints.test(id);
    const settled = async () => {
      const { data } = await client.webhookEndpoints.listDeliveries(id);
      return data.some((one) => one.id === delivery.id && one.status !== 'pending');
    };
    await until(settled, { what: 'the test was delivered' });
    await codeOf(client.webhookDeliveries.retry(delivery.id));
    await client.webhookEndpoints.retryFailedDeliveries(id, { since: new Date(0).toISOString() });
    await client.webhookEndpoints.delete(id);
  });

  test('verifies a delivery of the gateway', async () => {
    const received = Promise.withResolvers<{ headers: IncomingHttpHeaders; body: Buffer }>();
    const server = createServer((request, response) => {
      void buffer(request).then((body) => {
        received.resolve({ headers: request.headers, body });
        response.writeHead(204).end();
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { id, secret } = await client.webhookEndpoints.create({ url, event_types: ['message.sent'] });
    try {
      const message = await send('Verified');
      const { headers, body } = await received.promise;
      const event = client.events.verify(headers, body, secret!);
      expect(event).toMatchObject({ type: 'message.sent', data: { message_id: message.id } });
      await expect(client.events.get(event.id)).resolves.toMatchObject({
        type: event.type,
        data: event.data,
      });
      const other = `whsec_${randomBytes(24).toString('base64')}`;
      expect(() => client.events.verify(headers, body, other)).toThrow(WebhookVerificationError);
    } finally {
      await client.webhookEndpoints.delete(id);
      server.close();
    }
  });

  /** Starts the program of a recipe, with these texts of it replaced. */
  function startRecipe(heading: string, changes: Record<string, string> = {}, appended = '') {
    const values = {
      'http://127.0.0.1:8080': stage.gateway.urls[0]!,
      'gwk_live_...': stage.customer.key.api_key,
      ins_01a1fdffcd497322a512ec93f709f5f2: stage.instance.id,
      '5511987654321': READER,
      ...changes,
    };
    let program = `${readRecipe('TypeScript client')}${readRecipe(heading)}${appended}`;
    for (const [text, value] of Object.entries(values)) program = program.replace(text, value);
    const folder = mkdtempSync(join(ROOT, 'test/dist/recipe-'));
    writeFileSync(join(folder, 'recipe.ts'), program);
    writeFileSync(join(folder, 'invoice.pdf'), '%PDF-1.4\n%%EOF\n');
    const child = spawn(process.execPath, ['recipe.ts'], { cwd: folder });
    const running = { child, out: '', error: '', ended: once(child, 'close') };
    child.stdout.on('data', (chunk: Buffer) => (running.out += String(chunk)));
    child.stderr.on('data', (chunk: Buffer) => (running.error += String(chunk)));
    void running.ended.then(() => rmSync(folder, { recursive: true }));
    return running;
  }

  async function runRecipe(heading: string, changes?: Record<string, string>) {
    const running = startRecipe(heading, changes);
    const [code] = (await running.ended) as [number | null];
    return [heading, code, running.error];
  }

  test('runs the recipes that end by themselves', async () => {
    const { id } = await send('For a recipe');
    const headings = [
      'Send a text',
      'Send a file from a path',
      'Send once, also after a crash',
      'Wait until a message was read',
      'Page through messages',
      'Create an instance and check its health',
      'Handle a limit',
      'Cancel a scheduled message',
    ];
    const changes = { msg_01a1fdffe09f7424a94d45b4b27c67d5: id };
    const results = await Promise.all(headings.map((heading) => runRecipe(heading, changes)));
    expect(results).toEqual(headings.map((heading) => [heading, 0, '']));
    // Refuses further messages to the recipient.
    expect(await runRecipe('Record an opt-out')).toEqual(['Record an opt-out', 0, '']);
    await client.optOuts.delete(READER);
    // An account has at most three sandboxes.
    for await (const { id, name } of client.instances.list())
      if (name === 'shop') await client.instances.delete(id);
  });

  test('runs the recipes that receive events', async () => {
    const port = await pickPort();
    const url = `http://127.0.0.1:${port}/webhooks`;
    const endpoint = await client.webhookEndpoints.create({ url, event_types: ['message.received'] });
    const listening = `app.listen(${port}, '127.0.0.1', () => console.log('listening'));\n`;
    const changes = { 'whsec_...': endpoint.secret! };
    const receiver = startRecipe('Receive webhooks with Express', changes, listening);
    const follower = startRecipe('Follow events');
    try {
      await until(() => receiver.out.includes('listening'), { what: 'the receiver listens' });
      // Events from before `follow` has begun do not count.
      await until(
        async () => {
          await client.instances.simulateInbound(stage.instance.id, { from: FRIEND, text: 'Recipe' });
          return [receiver, follower].every(({ out }) => out.includes('Recipe'));
        },
        { what: 'both print the text', giveUp: () => receiver.error + follower.error || undefined },
      );
      const forged = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'webhook-id': 'evt_1' },
        body: '{}',
      });
      expect(forged.status).toBe(500);
    } finally {
      for (const { child } of [receiver, follower]) child.kill('SIGKILL');
      await client.webhookEndpoints.delete(endpoint.id);
    }
  });

  test('a reader of the Node tutorial sends, follows and answers', async () => {
    const folder = mkdtempSync(join(ROOT, 'test/dist/tutorial-'));
    const access = { base_url: stage.gateway.urls[0]!, api_key: stage.customer.key.api_key };
    const id = await typeTutorial({ language: 'ts', file: 'bot.mts', folder, access });
    rmSync(folder, { recursive: true });
    const answered = async () => {
      const { data } = await client.messages.list({ instance_id: id });
      return data.filter(({ direction }) => direction === 'outbound').length === 2;
    };
    await until(answered, { what: 'the program has answered' });
    await client.instances.delete(id);
  });

  test('runs the recipe that pairs a phone', async () => {
    const { id } = await client.instances.create({ name: 'sdk recipe', kind: 'sandbox' });
    await until(async () => (await client.instances.get(id)).state === 'connected', { what: 'connected' });
    await client.instances.logout(id);
    const pairing = startRecipe('Pair a phone', { ins_01a1fdffcd497322a512ec93f709f5f2: id });
    await until(() => pairing.out.includes('Show this as a QR code'), {
      what: 'the code is shown',
      giveUp: () => pairing.error || undefined,
    });
    await stage.network.phone(id, { kind: 'scan' });
    const [code] = (await pairing.ended) as [number];
    expect([code, pairing.error, pairing.out]).toEqual([0, '', expect.stringContaining('Linked 55')]);
  });

  test('has called every operation of the document', () => {
    const all = Object.values(OPERATIONS).flatMap((group) =>
      Object.values(group).map(([method, path]) => `${method as string} ${path as string}`),
    );
    expect(all.filter((operation) => !called.has(operation))).toEqual([]);
  });
});

test('the examples of the page compile', () => {
  const blocks = readFileSync(PAGE, 'utf8').matchAll(/^```ts\n(.*?)^```/gms);
  const [setup, ...examples] = [...blocks].map(([, code]) => code!);
  expect(examples).toHaveLength(12);
  const folder = mkdtempSync(join(ROOT, 'test/dist/recipes-'));
  try {
    const files = examples.map((example, index) => {
      const file = join(folder, `example-${index}.ts`);
      const imports = /^import .*\n/gm;
      writeFileSync(
        file,
        `${(example.match(imports) ?? []).join('')}${setup!}${example.replace(imports, '')}`,
      );
      return file;
    });
    const compiler = join(ROOT, 'node_modules/typescript7/bin/tsc');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022'];
    const types = ['--types', 'node', '--lib', 'es2022,dom', '--ignoreConfig'];
    const { stdout, status } = spawnSync(process.execPath, [compiler, ...options, ...types, ...files], {
      encoding: 'utf8',
    });
    expect([stdout, status]).toEqual(['', 0]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('the package', () => {
  const folder = join(ROOT, 'sdk/typescript');

  test('has at most 20 kB compressed, with at most two dependencies', () => {
    const bundle = readFileSync(join(folder, 'dist/esm/index.js'));
    expect(gzipSync(bundle).length).toBeLessThan(20_000);
    const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      dependencies: object;
    };
    expect(Object.keys(dependencies)).toEqual(['openapi-fetch', 'standardwebhooks']);
  });

  test('shows editors what an operation does', () => {
    const file = join(folder, 'hover.ts');
    const text = `import type { Gwk } from '@gwk/client';\nlet client!: Gwk;\nclient.media.upload;`;
    const options = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, types: [] };
    const read = (name: string) => (name === file ? text : ts.sys.readFile(name));
    const editor = ts.createLanguageService({
      fileExists: (name) => ts.sys.fileExists(name),
      readFile: read,
      getCurrentDirectory: () => folder,
      getScriptFileNames: () => [file],
      getScriptVersion: () => '1',
      getScriptSnapshot: (name) => ts.ScriptSnapshot.fromString(read(name)!),
      getCompilationSettings: () => options,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
    });
    const hover = editor.getQuickInfoAtPosition(file, text.indexOf('upload'));
    const { summary, description } = (
      JSON.parse(readFileSync(join(folder, 'src/generated/openapi.json'), 'utf8')) as {
        paths: Record<string, { post: { summary: string; description: string } }>;
      }
    ).paths['/v1/media']!.post;
    expect(ts.displayPartsToString(hover!.documentation)).toBe(`${summary}\n\n${description}`);
  });

  test.each([
    ['import', ['--input-type=module', '-e', "import { Gwk } from '@gwk/client'; console.log(typeof Gwk)"]],
    ['require', ['--input-type=commonjs', '-e', "console.log(typeof require('@gwk/client').Gwk)"]],
  ])('loads by %s', (_, args) => {
    expect(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })).toBe('function\n');
  });
});

/** The example under a heading of the page. */
function readRecipe(heading: string): string {
  const section = readFileSync(PAGE, 'utf8')
    .split(/^#+ /m)
    .find((text) => text.startsWith(`${heading}\n`));
  return section!.match(/^```ts\n(.*?)^```/ms)![1]!;
}

/** The row of the table that a request belongs to. More literal paths come before those with parameters. */
function findOperation({ method, url }: Request): string {
  const { pathname } = new URL(url);
  const rows = Object.values(OPERATIONS).flatMap((group) => Object.values(group) as (readonly string[])[]);
  const fitting = rows
    .filter(([rowMethod, path]) => {
      const pattern = path!.replace(/\{\w+\}/g, '[^/]+');
      return rowMethod === method && new RegExp(`^${pattern}$`).test(pathname);
    })
    .sort(([, one], [, other]) => one!.split('{').length - other!.split('{').length);
  return `${fitting[0]![0]} ${fitting[0]![1]}`;
}
