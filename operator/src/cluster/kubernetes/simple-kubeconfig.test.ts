import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { temporaryFolder } from '@gwk/test/support/operator/folder';
import { readSimpleKubeconfig } from './simple-kubeconfig.js';

const folder = temporaryFolder();
afterAll(() => folder.remove());

function config(cluster: object, user: object, more: object = {}): string {
  const path = join(folder.path, 'config');
  const whole = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u', namespace: 'shops' } }],
    clusters: [{ name: 'k', cluster }],
    users: [{ name: 'u', user }],
    ...more,
  };
  writeFileSync(path, stringify(whole));
  return path;
}
const server = 'https://10.0.0.1:6443/';

test('reads a token', async () => {
  const access = readSimpleKubeconfig(config({ server }, { token: 'abc' }))!;
  expect([access.server, access.namespace]).toEqual(['https://10.0.0.1:6443', 'shops']);
  expect(await access.headers()).toEqual({ authorization: 'Bearer abc' });
});

test('reads certificates, also from files beside it', () => {
  writeFileSync(join(folder.path, 'ca.crt'), 'the authority');
  const user = { 'client-certificate-data': 'YQ==', 'client-key-data': 'Yg==' };
  expect(readSimpleKubeconfig(config({ server, 'certificate-authority': 'ca.crt' }, user))).not.toBeNull();
});

test.each([
  ['a plugin', { server }, { exec: { command: 'aws' } }, {}],
  ['an unverified certificate', { server, 'insecure-skip-tls-verify': true }, {}, {}],
  ['a proxy', { server, 'proxy-url': 'http://proxy' }, { token: 'x' }, {}],
  ['no context', { server }, { token: 'x' }, { 'current-context': 'other' }],
])('leaves %s to client-node', (_, cluster, user, more) => {
  expect(readSimpleKubeconfig(config(cluster, user, more))).toBeNull();
});
