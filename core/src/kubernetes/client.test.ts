import { HttpMethod, KubeConfig, RequestContext } from '@kubernetes/client-node';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { KubeClient, parseError } from './client.js';

const folder = temporaryFolder();
afterAll(() => folder.remove());

function config(user: object): KubeConfig {
  const path = join(folder.path, 'config');
  const whole = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'shops' } }],
    clusters: [
      { name: 'k', cluster: { server: 'https://10.0.0.1:6443', 'certificate-authority': 'ca.crt' } },
    ],
    users: [{ name: 'u', user }],
  };
  writeFileSync(path, stringify(whole));
  writeFileSync(join(folder.path, 'ca.crt'), 'the authority');
  const kube = new KubeConfig();
  kube.loadFromFile(path);
  return kube;
}

test('uses the namespace and the credentials of a kubeconfig, and one dispatcher for all calls', async () => {
  const client = new KubeClient({ kube: config({ token: 'abc' }) });
  expect(client.namespace).toBe('shops');
  const requests = [1, 2].map(() => new RequestContext('https://10.0.0.1:6443/', HttpMethod.GET));
  for (const request of requests) await client.applySecurityAuthentication(request);
  expect(requests.map((request) => request.getHeaders())).toEqual(
    Array(2).fill({ Authorization: 'Bearer abc' }),
  );
  expect(requests[0]!.getDispatcher()).toBe(requests[1]!.getDispatcher());
  await client.close();
});

test('rejects a context that does not exist', () => {
  expect(() => new KubeClient({ kube: config({}), context: 'other' })).toThrow('no context other');
});

test('says why the server sees an anonymous user', () => {
  const message = 'secrets "a" is forbidden: User "system:anonymous" cannot get resource "secrets"';
  const body = JSON.stringify({ kind: 'Status', reason: 'Forbidden', message });
  expect(parseError(403, body).message).toContain('no credentials that gwk reads');
  expect(parseError(403, body.replace('system:anonymous', 'ana')).message).not.toContain('credentials');
});
