import { startNetwork, type RunningNetwork } from './start.js';

const REVISION = 1_044_200_000;

let running: RunningNetwork;

beforeEach(async () => {
  running = await startNetwork();
});
afterEach(() => running.close());

const ask = () => fetch(running.webClientUrl, { redirect: 'manual' });
/** The revision, in a string in a script. */
const read = (body: string) => /\\"client_revision\\":(\d+)/.exec(body)?.[1];

describe('the script of the web client', () => {
  it('names the present revision, and another one from now on', async () => {
    expect(Number(read(await (await ask()).text()))).toBeGreaterThan(1_043_857_760);
    await running.client.serveWebClient({ kind: 'script', revision: REVISION });
    const answer = await ask();
    expect(answer.headers.get('content-type')).toContain('text/javascript');
    expect(read(await answer.text())).toBe(String(REVISION));
    expect(await running.client.webClientRequests()).toMatchObject([
      { method: 'GET', path: '/sw.js' },
      { method: 'GET', path: '/sw.js' },
    ]);
  });

  it('is replaced by a page, nothing or a status', async () => {
    const { client } = running;
    await client.serveWebClient({ kind: 'html' });
    expect(await (await ask()).text()).toContain('<!doctype html>');
    await client.serveWebClient({ kind: 'empty' });
    expect(await (await ask()).text()).toBe('');
    await client.serveWebClient({ kind: 'status', status: 404 });
    expect((await ask()).status).toBe(404);
  });

  it('is unreachable', async () => {
    await running.client.serveWebClient({ kind: 'down' });
    await expect(ask()).rejects.toThrow('fetch failed');
  });

  it.each([
    ['same-host', /^\/moved/],
    ['other-host', /^http:\/\/localhost:\d+\/moved/],
  ] as const)('is moved (%s)', async (to, location) => {
    await running.client.serveWebClient({ kind: 'redirect', to, revision: REVISION });
    const answer = await ask();
    expect(answer.status).toBe(302);
    expect(answer.headers.get('location')).toMatch(location);
    const followed = await fetch(running.webClientUrl);
    expect(read(await followed.text())).toBe(String(REVISION));
  });

  it.each(['huge', 'slow'] as const)('never ends (%s), and stops with the client', async (kind) => {
    await running.client.serveWebClient({ kind, revision: REVISION });
    const reader = (await ask()).body!.getReader();
    let body = '';
    while (!read(body)) body += Buffer.from((await reader.read()).value ?? []).toString();
    expect(read(body)).toBe(String(REVISION));
    await reader.cancel();
  });
});

test('other paths are not found', async () => {
  expect((await fetch(new URL('/', running.webClientUrl))).status).toBe(404);
});
