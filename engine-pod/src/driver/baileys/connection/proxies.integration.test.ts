import { randomBytes, createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { openAgents } from '@gwk/core/proxy/agents';
import type { Person } from '@gwk/network/control/client';
import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import { QR, SimulatedInstance } from '@gwk/test/support/engine/simulated-instance';
import {
  buildProxyUrl,
  PROXY_CA,
  startProxy,
  type ProxyKind,
  type TestProxy,
} from '@gwk/test/support/servers/proxies';

/** Names that only the proxy can resolve. */
const NETWORK = 'web.network.test';
const MEDIA = 'media.network.test';

let network: RunningNetwork;
let proxy: TestProxy;
let number: SimulatedInstance;
let proxyUrl: string;
let port: string;

async function open(kind: ProxyKind): Promise<void> {
  network = await startNetwork({ mediaName: MEDIA });
  proxy = await startProxy(kind);
  proxyUrl = proxy.url;
  ({ port } = new URL(network.url));
  const config = {
    proxyUrl: () => proxyUrl,
    proxyCa: kind === 'https' ? PROXY_CA : undefined,
    noProxy: undefined,
    standardProxyUrl: undefined,
    standardNoProxy: undefined,
  };
  number = new SimulatedInstance({
    root: network.root,
    url: network.url.replace(/\/\/[^:/]+/, `//${NETWORK}`),
    agents: openAgents(config),
  });
}

afterEach(async () => {
  await number.driver.close();
  await proxy.stop();
  await network.close();
});

async function pair() {
  const phone = await network.client.phone('5511900000001', { name: 'Shop' });
  const ana = await network.client.contact('5511900000002', { name: 'Ana' });
  number.connect(QR);
  await phone.scan((await number.happens('qr')).code);
  await number.happens('opened');
  return { phone, ana };
}

describe.each<ProxyKind>(['http', 'https', 'socks5'])('through a proxy (%s)', (kind) => {
  test('a phone is linked, and text and files are sent and received', async () => {
    await open(kind);
    const { phone, ana } = await pair();
    await number.sendText(ana.jid, 'hello');
    expect(await network.client.received({ text: 'hello', fate: 'shown' })).not.toEqual([]);
    await ana.writes('good morning', { to: phone.number });
    await number.text('good morning');
    const received = randomBytes(50_001);
    const id = await ana.writesFile('image', received, { to: phone.number });
    expect((await number.gets(id)).media).toEqual({ media_id: expect.any(String) as string });
    expect(number.rows.kept.some(({ bytes }) => bytes.equals(received))).toBe(true);
    await sendFile(ana);
    expect(proxy.opened).toContain(`${NETWORK}:${port}`);
    // At least the received and the sent file.
    expect(proxy.opened.filter((opened) => opened.startsWith(MEDIA)).length).toBeGreaterThanOrEqual(2);
  });

  test('a wrong password and a proxy that is down are reported, and end', async () => {
    await open(kind);
    await pair();
    expect(await reconnect(() => (proxyUrl = buildProxyUrl(kind, proxy.port, 'wrong')))).toBe(
      'proxy_login_refused',
    );
    await reopen(() => (proxyUrl = proxy.url));
    expect(await reconnect(() => proxy.stop())).toBe('proxy_unreachable');
    await reopen(async () => void (proxy = await startProxy(kind, proxy.port)));
  });
});

/** Ends the connection after a change, connects again, and returns how that ended. */
async function reconnect(change: () => unknown): Promise<string> {
  await number.driver.close();
  number.events.length = 0;
  await change();
  number.connect();
  const { disconnect } = await number.happens('closed');
  return disconnect.kind === 'dropped' ? disconnect.reason : disconnect.kind;
}

async function reopen(change: () => unknown): Promise<void> {
  await change();
  number.events.length = 0;
  number.connect();
  await number.happens('opened');
}

async function sendFile(ana: Person): Promise<void> {
  const bytes = randomBytes(20_000);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const finished = { file: 'f', mimetype: 'application/pdf', size: bytes.length, sha256, filename: 'a.pdf' };
  const message = number.message(ana.jid, { type: 'document', document: { media: {} }, finished });
  number.rows.files.set(message.message_id, () => Readable.from([bytes]));
  const { id } = await number.send(message);
  expect((await ana.opens(await ana.receives({ id }))).equals(bytes)).toBe(true);
}
