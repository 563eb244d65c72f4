import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@gwk/core/config/load';
import { mediaStoreSettings } from '../../config/media.js';
import { proxySettings } from '@gwk/core/config/proxy';
import { Proxy } from '@gwk/core/proxy/proxy';
import { startProxy } from '@gwk/test/support/servers/proxies';
import { openClient } from './s3-store.js';

/** Credentials that clouds give to pods. The variables are those that the cloud adds to the pods. */
const folder = mkdtempSync(join(tmpdir(), 'gwk-credentials-'));
const token = join(folder, 'token');
writeFileSync(token, 'token of the pod');
const config = loadConfig(mediaStoreSettings, { GWK_MEDIA_S3_BUCKET: 'files' });
const KEYS = { accessKeyId: 'ASIAEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' };

let server: Server;
const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
  server.close();
  server.closeAllConnections();
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Starts a server and sets variables, in place of other sources of credentials. */
async function start(answer: RequestListener, variables: (port: number) => Record<string, string>) {
  server = createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
  const none = { AWS_CONFIG_FILE: '/dev/null', AWS_SHARED_CREDENTIALS_FILE: '/dev/null' };
  Object.assign(process.env, none, { AWS_EC2_METADATA_DISABLED: 'true' }, variables(port));
  return port;
}

test('reads credentials from the agent of EKS Pod Identity', async () => {
  await start(
    ({ headers, url }, response) => {
      const isAsked = url === '/v1/credentials' && headers.authorization === 'token of the pod';
      const { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: Token } = KEYS;
      const Expiration = new Date(Date.now() + 3_600_000).toISOString();
      response
        .writeHead(isAsked ? 200 : 403)
        .end(JSON.stringify({ AccessKeyId, SecretAccessKey, Token, Expiration }));
    },
    (port) => ({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `http://127.0.0.1:${port}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: token,
    }),
  );
  const client = openClient(config);
  expect(await client.config.credentials()).toMatchObject(KEYS);
  client.destroy();
});

test('assumes the role of its service account (IRSA), through the proxy', async () => {
  const port = await start(
    (_, response) => {
      const until = new Date(Date.now() + 3_600_000).toISOString();
      response
        .writeHead(200, { 'content-type': 'text/xml' })
        .end(
          `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>` +
            `<AccessKeyId>${KEYS.accessKeyId}</AccessKeyId><SecretAccessKey>${KEYS.secretAccessKey}</SecretAccessKey>` +
            `<SessionToken>${KEYS.sessionToken}</SessionToken><Expiration>${until}</Expiration>` +
            `</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
        );
    },
    (port) => ({
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/files',
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
      // Only the proxy can resolve this name.
      AWS_ENDPOINT_URL_STS: `http://sts.test:${port}`,
    }),
  );
  const proxy = await startProxy('http');
  const route = loadConfig(proxySettings('GWK_API', 'tests'), { HTTPS_PROXY: proxy.url });
  const client = openClient(config, Proxy.fromConfig(route));
  expect(await client.config.credentials()).toMatchObject(KEYS);
  expect(proxy.opened).toEqual([`sts.test:${port}`]);
  client.destroy();
  await proxy.stop();
});
