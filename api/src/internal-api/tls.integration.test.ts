import { EngineClient } from '@gwk/core/protocol/internal-client';
import { sharedInternalApi, TestEngine } from '@gwk/test/support/api/internal-api';
import { countRequests } from '@gwk/test/support/api/requests';

// A certificate for 127.0.0.1, made for these tests and valid for a hundred years.
const CERT = `-----BEGIN CERTIFICATE-----
MIIBjjCCATSgAwIBAgIUV4fLrWL3MEYi+3XAiK+p0MVZWMAwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIZ3drLXRlc3QwIBcNMjYxMTIxMTIyMjU1WhgPMjEyNjEwMjgx
MjIyNTVaMBMxETAPBgNVBAMMCGd3ay10ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAE0qJtq26Fre4xz43XfHvW11lp0LneBVZS/UkqIKE/OTyxKb/9pZXK3whh
3GQLcf4ohI5WrBoyVYizMuIWfjKIgKNkMGIwHQYDVR0OBBYEFPTd2yOX19s95mhy
GFvKAqaU4u7RMB8GA1UdIwQYMBaAFPTd2yOX19s95mhyGFvKAqaU4u7RMA8GA1Ud
EwEB/wQFMAMBAf8wDwYDVR0RBAgwBocEfwAAATAKBggqhkjOPQQDAgNIADBFAiB/
5VD6d9EZgsntwjl2DQMCEeeXpEMG0A5MVtPwsWRB9AIhAJ8ZzODFlgnTpMLjEXHL
T12J0IMNrz39G/0JYO6qq942
-----END CERTIFICATE-----`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgak4owkRd6pqjZ0I6
0JgTo2Z3vR1phwRwsH4l58Gnh3OhRANCAATSom2rboWt7jHPjdd8e9bXWWnQud4F
VlL9SSogoT85PLEpv/2llcrfCGHcZAtx/iiEjlasGjJViLMy4hZ+MoiA
-----END PRIVATE KEY-----`;

test('serves TLS with a certificate, to clients that pin it', async () => {
  const plain = await sharedInternalApi();
  const engine = await plain.addEngine();
  const url = await plain.addReplica({ internalTlsCert: () => CERT, internalTlsKey: () => KEY });
  expect(url).toMatch(/^https:/);
  const connect = (ca?: string) =>
    new EngineClient({ baseUrl: url, token: engine.token, ca, timeoutMs: 120_000 });
  const [pinned, unpinned] = [connect(CERT), connect()];
  const secure = new TestEngine(pinned, engine.instanceId, engine.pod, engine.token);
  await secure.acquire();
  const requests = countRequests('/engine/renew');
  await secure.call('renew', { connected: true });
  expect(requests.count).toBe(0);
  requests.stop();
  await expect(unpinned.call('renew', { ...secure.lease, connected: true })).rejects.toThrow(/self-signed/);
  await expect(fetch(url.replace('https:', 'http:'))).rejects.toThrow();
  for (const client of [pinned, unpinned]) client.close();
  await plain.close();
});

test('refuses to start with a certificate and no key', async () => {
  const plain = await sharedInternalApi();
  await expect(plain.addReplica({ internalTlsCert: () => CERT })).rejects.toThrow(/GWK_API_INTERNAL_TLS_KEY/);
  await plain.close();
});
