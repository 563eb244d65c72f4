import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError, ConnectionError, StreamEndedError } from '@gwk/client';
import { Webhook } from 'standardwebhooks';
import { note, parseDuration, print, renderJson, renderTable, writeCell } from './command.js';
import { buildContent, describeUnclear, parseRecipient } from './commands/messages.js';
import { chooseInstance, confirm } from './commands/instances.js';
import { listCompletions } from './commands/completion.js';
import { judgeClock, judgeTransport } from './commands/doctor.js';
import { decidePairStep } from './commands/pair.js';
import { judgeInstances } from './commands/readiness.js';
import { CliError, describeFailure, describeProblem, EXIT_CODES } from './errors.js';
import { createClient } from './gateway/client.js';
import { describeVersions } from './gateway/server-version.js';
import {
  addProfile,
  chooseAccess,
  findProfilePath,
  hideKey,
  isExposed,
  parseAddress,
  readProfiles,
  removeProfile,
  writeProfiles,
} from './profiles/profiles.js';
import { createProgram } from './program.js';
import { readKeys } from './webhooks/keys.js';
import { newSecret, signEvent } from './webhooks/post.js';
import { buildSample, listEventSchemas } from './webhooks/sample.js';

function catchError(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

const SHOP = { url: 'https://shop.example.org', key: 'gwk_live_shop' };
const FILE = { current: 'shop', profiles: { shop: SHOP } };

describe('profiles', () => {
  test.each([
    ['linux', {}, '/home/ana/.config/gwk/profiles.json'],
    ['linux', { XDG_CONFIG_HOME: '/etc/ana' }, '/etc/ana/gwk/profiles.json'],
    ['darwin', {}, '/home/ana/Library/Application Support/gwk/profiles.json'],
    ['win32', { APPDATA: '/roaming' }, '/roaming/gwk/profiles.json'],
  ])('are stored on %s with %j in %s', (platform, env, path) => {
    expect(findProfilePath(platform, env, '/home/ana')).toBe(path);
  });

  test.each([
    ['the current one', {}, undefined, SHOP],
    ['the named one', { GWK_URL: 'https://other.example.org' }, 'shop', SHOP],
    [
      'the environment',
      { GWK_URL: 'http://127.0.0.1:8080/', GWK_API_KEY: 'k' },
      undefined,
      { url: 'http://127.0.0.1:8080', key: 'k' },
    ],
    ['the stored key, if the variable is empty', { GWK_API_KEY: '' }, undefined, SHOP],
    [
      'no stored key for another gateway',
      { GWK_URL: 'https://other.example.org' },
      undefined,
      { url: 'https://other.example.org', key: null },
    ],
  ])('choose %s', (_, env, named, access) => {
    expect(chooseAccess(FILE, env, named)).toEqual(access);
  });

  test('refuse an unknown name, and no gateway at all', () => {
    expect(() => chooseAccess(FILE, {}, 'other')).toThrow('no profile "other"');
    expect(() => chooseAccess({ current: 'default', profiles: {} }, {}, undefined)).toThrow('gwk login');
  });

  test.each([
    ['a key without its gateway', { GWK_API_KEY: 'k' }, undefined, 'GWK_API_KEY needs GWK_URL'],
    ['a name that every object has', {}, 'constructor', 'no profile "constructor"'],
  ])('refuse %s', (_, env, named, message) => {
    expect(() => chooseAccess(FILE, env, named)).toThrow(message);
  });

  test.each(['gwk_live_a\ngwk_live_b', 'gwk_live_é', 'gwk live', ''])(
    'refuse the key %j unprinted',
    (key) => {
      const error = catchError(() => createClient({ url: SHOP.url, key }));
      expect(describeFailure(error)).toEqual({ code: 2, text: expect.not.stringMatching(/gwk.live/) });
    },
  );

  test('the file is readable by its owner alone, and comes back', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gwk-profiles-'));
    try {
      const path = join(folder, 'gwk/profiles.json');
      expect(readProfiles(path).profiles).toEqual({});
      writeProfiles(addProfile(readProfiles(path), 'shop', SHOP), path);
      writeProfiles(addProfile(readProfiles(path), 'two', SHOP), path);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(readProfiles(path)).toEqual({ current: 'two', profiles: { shop: SHOP, two: SHOP } });
      expect(removeProfile(readProfiles(path), 'two')).toEqual(FILE);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test.each([
    ['gwk.example.org', 'https://gwk.example.org'],
    ['http://localhost:8080/', 'http://localhost:8080'],
    ['https://example.org/gwk/', 'https://example.org/gwk'],
  ])('read the address %s as %s', (text, url) => expect(parseAddress(text)).toBe(url));

  test.each(['ftp://a', 'https://user:pw@host', 'a b', ''])('refuse the address "%s"', (text) => {
    expect(() => parseAddress(text)).toThrow(CliError);
  });

  test('a key is shown by its beginning, and exposed by plain HTTP to another machine', () => {
    expect(hideKey('gwk_live_abcdefghijklmnop')).toBe('gwk_live_abcd...');
    expect(['http://gwk.example.org', 'http://127.0.0.1:80', 'https://a.org'].map(isExposed)).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe('failures', () => {
  const refuse = (status: number, body: object) => new ApiError(body, new Response(null, { status }));
  test.each([
    [401, 3],
    [403, 3],
    [404, 4],
    [422, 5],
    [429, 5],
    [503, 6],
  ])('a problem with status %d exits with %d', (status, code) => {
    expect(describeFailure(refuse(status, {})).code).toBe(code);
  });

  test('a problem shows title, detail, fields, request and page', () => {
    const problem = {
      type: 'https://gwk.example.org/problems/validation-error',
      title: 'Invalid request',
      detail: 'See errors',
      request_id: 'req_1',
      errors: [{ path: 'to', code: 'too_small', message: 'too short' }],
    };
    expect(describeProblem(refuse(422, problem))).toBe(
      'Invalid request (422)\nSee errors\n  to: too short\nRequest: req_1\nMore: https://gwk.example.org/problems/validation-error',
    );
  });

  test.each([
    [new TypeError('x'), 1, 'x'],
    [new StreamEndedError('access_ended'), 3, 'The key was revoked, or may no longer read these events'],
    [new StreamEndedError('too_many_streams'), 5, 'Too many streams are open for this key'],
    [new ConnectionError('No answer', { cause: new TypeError('terminated') }), 6, 'No answer: terminated'],
    [new ConnectionError('No answer', { cause: new CliError('refused', 'no gateway') }), 5, 'no gateway'],
  ])('%p exits with %d', (error, code, text) => {
    expect(describeFailure(error)).toEqual({ code, text });
  });
});

describe('output', () => {
  test('a table aligns its columns', () => {
    expect(
      renderTable(
        ['id', 'name'],
        [
          ['1', 'shop'],
          ['200', 'a'],
        ],
      ),
    ).toBe('ID   NAME\n1    shop\n200  a');
  });

  test('a cell cannot change the terminal', () => {
    expect(writeCell('a\u001b[31m\nb')).toBe('a [31m b');
    expect(writeCell('a\u202eb')).toBe('a b');
    expect([writeCell(null), writeCell({ a: 1 })]).toEqual(['-', '{"a":1}']);
  });
});

test.each([
  ['stdout', print],
  ['stderr', note],
] as const)('text for %s cannot change the terminal', (stream, write) => {
  const written = jest.spyOn(process[stream], 'write').mockReturnValue(true);
  try {
    write('a\u001b[31m\tb\nc\u009bd\u202ee\u2028');
    expect(written.mock.calls).toEqual([['a [31m\tb\nc d e \n']]);
  } finally {
    written.mockRestore();
  }
});

test('JSON cannot change the terminal, and keeps its value', () => {
  const value = { a: 'é\u001b\u007f\u009b\u202e' };
  expect(renderJson(value)).toBe(String.raw`{"a":"é\u001b\u007f\u009b\u202e"}`);
  expect(JSON.parse(renderJson(value, 2))).toEqual(value);
});

test('a problem cannot change the terminal or pretend further lines', () => {
  const problem = new ApiError({ title: 'a\u001bb', detail: 'c\nd' }, new Response(null, { status: 422 }));
  expect(describeProblem(problem)).toBe('a b (422)\nc d');
});

test.each([
  ['0', 0],
  ['90s', 90_000],
  ['2m', 120_000],
  ['1h', 3_600_000],
])('reads the time %s', (text, ms) => expect(parseDuration(text)).toBe(ms));
test.each(['', '-1', '2d', '1.5m'])('refuses the time "%s"', (text) =>
  expect(() => parseDuration(text)).toThrow(),
);

test('reads phone numbers as people write them, and groups', () => {
  expect(['+55 (11) 98765-4321', '120363@g.us'].map(parseRecipient)).toEqual([
    '5511987654321',
    '120363@g.us',
  ]);
  expect(() => parseRecipient('abc')).toThrow('8 to 15 digits');
});

test.each([
  [new ConnectionError('x'), true],
  [new ApiError({}, new Response(null, { status: 503 })), true],
  [new ApiError({}, new Response(null, { status: 422 })), false],
  [new CliError('usage', 'x'), false],
])('after %p the message may have been sent: %p', (error, unclear) => {
  const remark = describeUnclear(error, 'key-1');
  expect(remark?.includes('--idempotency-key=key-1') ?? false).toBe(unclear);
});

test('builds the content of a message by the type of the file', () => {
  const media = (mimetype: string) => ({ id: 'med_1', mimetype, filename: 'a.bin' });
  expect(buildContent('oi', null)).toEqual({ type: 'text', text: { body: 'oi' } });
  expect(buildContent('oi', media('image/png'))).toEqual({
    type: 'image',
    image: { media: { media_id: 'med_1' }, caption: 'oi' },
  });
  expect(buildContent(undefined, media('application/pdf'))).toEqual({
    type: 'document',
    document: { media: { media_id: 'med_1', filename: 'a.bin' } },
  });
  expect(() => buildContent('oi', media('audio/ogg'))).toThrow('no caption');
});

test('a destructive command names the gateway, and needs --yes', () => {
  expect(() => confirm('deletes shop', SHOP, undefined)).toThrow(
    'This deletes shop at https://shop.example.org. Confirm with --yes',
  );
  expect(() => confirm('deletes shop', SHOP, true)).not.toThrow();
});

test('finds an instance by its name, and asks for an id when several have it', () => {
  const instance = (id: string, name: string) => ({
    id,
    name,
    kind: 'web',
    state: 'connected',
    jid: null,
    created_at: '',
  });
  const list = [instance('ins_1', 'a'), instance('ins_2', 'b'), instance('ins_3', 'b')];
  expect(chooseInstance(list, 'a').id).toBe('ins_1');
  expect(() => chooseInstance(list, 'b')).toThrow('ins_2, ins_3');
  expect(() => chooseInstance(list, 'c')).toThrow('No instance is named "c"');
});

test.each([
  ['qr', { code: '2@x', expires_in_s: 20 }, { do: 'show-qr', code: '2@x', seconds: 20 }],
  ['qr', { expires_in_s: 20 }, { do: 'give-up' }],
  ['code', { code: 'ABCD1234' }, { do: 'say', text: expect.stringContaining('ABCD-1234') }],
  ['passkey', {}, { do: 'say' }],
  ['paired', {}, { do: 'say' }],
  ['connected', {}, { do: 'finish' }],
  [
    'error',
    { title: 'Pairing failed', detail: 'timeout' },
    { do: 'give-up', reason: 'Pairing failed\ntimeout' },
  ],
  ['new', {}, { do: 'wait' }],
])('the pairing event %s with %j leads to %j', (event, data, step) => {
  expect(decidePairStep({ event, data })).toMatchObject(step);
});

test('readiness: waiting cures a connecting instance, and not a banned one', () => {
  expect(judgeInstances([{ name: 'a', state: 'connected' }])).toBeNull();
  expect(judgeInstances([{ name: 'a', state: 'connecting' }])).toMatchObject({ isTemporary: true });
  expect(judgeInstances([{ name: 'a', state: 'banned' }])).toMatchObject({
    isTemporary: false,
    kind: 'refused',
  });
});

test('doctor warns of a different clock and of plain HTTP', () => {
  const date = 'Sat, 21 Nov 2026 14:30:00 GMT';
  expect(judgeClock(date, Date.parse(date) + 5_000).result).toBe('ok');
  expect(judgeClock(date, Date.parse(date) - 31_000).result).toBe('warning');
  expect(['https://a.org', 'http://a.org'].map((url) => judgeTransport(url).result)).toEqual([
    'ok',
    'warning',
  ]);
});

test('warns of another minor version', () => {
  expect([describeVersions('0.1.9', '0.1.0'), describeVersions('0.2.0', '0.1.0')]).toEqual([
    null,
    expect.stringContaining('0.2.0'),
  ]);
});

test('signs an event so that libraries of Standard Webhooks accept it, and no other body', () => {
  const secret = newSecret();
  const headers = signEvent(secret, 'evt_1', '{"a":1}', new Date());
  expect(new Webhook(secret).verify('{"a":1}', headers)).toEqual({ a: 1 });
  expect(() => new Webhook(secret).verify('{"a":2}', headers)).toThrow();
});

test.each([
  ['', 'r', '', [{ do: 'resend', number: null }]],
  ['', '12\n', '', [{ do: 'resend', number: 12 }]],
  ['1', '2', '12', []],
  ['1', 'x\r', '', []],
  ['', '\u0003', '', [{ do: 'quit' }]],
])('after "%s" the keys %j leave "%s" and do %j', (pending, input, left, actions) => {
  expect(readKeys(pending, input)).toEqual({ pending: left, actions });
});

test('builds a sample from a schema, also one that contains itself', () => {
  const document = {
    components: {
      schemas: {
        EventOut: { oneOf: [{ $ref: '#/components/schemas/Sent' }] },
        Sent: {
          properties: {
            type: { const: 'message.sent' },
            id: { type: 'string', examples: ['evt_1'] },
            at: { type: 'string', format: 'date-time' },
            left: { anyOf: [{ type: 'null' }, { type: 'integer', minimum: 3 }] },
            list: { type: 'array', items: { $ref: '#/components/schemas/Loop' } },
          },
        },
        Loop: { properties: { again: { $ref: '#/components/schemas/Loop' } } },
      },
    },
  };
  const schemas = listEventSchemas(document);
  expect([...schemas.keys()]).toEqual(['message.sent']);
  const now = new Date('2026-11-21T14:30:00Z');
  expect(buildSample(document, schemas.get('message.sent')!, now)).toMatchObject({
    type: 'message.sent',
    id: 'evt_1',
    at: '2026-11-21T14:30:00.000Z',
    left: 3,
    list: [{ again: { again: {} } }],
  });
});

test('completes commands, options and choices', () => {
  const program = createProgram('gwk');
  expect(listCompletions(program, ['inst'])).toEqual(['instances']);
  expect(listCompletions(program, ['instances', 'de'])).toEqual(['delete']);
  expect(listCompletions(program, ['send', '--fr'])).toEqual(['--from']);
  expect(listCompletions(program, ['completion', ''])).toEqual(
    expect.arrayContaining(['bash', 'zsh', 'fish']),
  );
  expect(listCompletions(program, ['acc'])).toEqual([]);
});

test('docs/cli.md shows the exit codes', () => {
  const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (\d) +\| (.+?) +\|$/gm)].map(([, code, text]) => [Number(code), text]);
  expect(rows).toEqual(Object.values(EXIT_CODES));
});

test('names every command of the server in place of it', () => {
  const page = readFileSync(new URL('../../docs/server-cli.md', import.meta.url), 'utf8');
  const [, list] = /\nCommands:\n([^]*?)```/.exec(page)!;
  const names = [...list!.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name]) => name!);
  const known = createProgram('gwk').commands.map((command) => command.name());
  expect(names.filter((name) => !known.includes(name) && name !== 'help')).toEqual([]);
});
