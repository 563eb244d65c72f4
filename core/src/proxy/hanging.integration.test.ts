import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { inFakeTime } from '@gwk/test/support/fake-time';
import { buildProxyUrl, type ProxyKind } from '@gwk/test/support/servers/proxies';
import { Proxy } from './proxy.js';

const TARGET = { host: 'web.network.test', port: 443 };
/** Accepts connections and never answers. */
const hanging = createServer((socket) => socket.resume());
beforeAll(() => once(hanging.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => void hanging.close());

describe.each<ProxyKind>(['http', 'https', 'socks5'])('a proxy that never answers (%s)', (kind) => {
  test(
    'is given up after 15 s, and its connection is closed',
    inFakeTime(async (pass) => {
      const url = buildProxyUrl(kind, (hanging.address() as AddressInfo).port);
      const none = { proxyCa: undefined, noProxy: undefined };
      const standard = { standardProxyUrl: undefined, standardNoProxy: undefined };
      const proxy = Proxy.fromConfig({ proxyUrl: () => url, ...none, ...standard })!;
      const accepted = once(hanging, 'connection') as Promise<[Socket]>;
      let outcome = 'open';
      const opening = proxy.open(TARGET).then(
        () => (outcome = 'opened'),
        (error: Error) => (outcome = error.message),
      );
      const [connection] = await accepted;
      await pass(14_999);
      expect(outcome).toBe('open');
      await pass(1);
      await opening;
      expect(outcome).toBe('the proxy cannot be reached (no answer)');
      if (!connection.closed) await once(connection, 'close');
    }),
  );
});
