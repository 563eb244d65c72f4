import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeServerCertificate, type ServerCertificate } from './certificate.js';

const NAMES = ['gwk-internal.messages.svc', 'gwk-internal'];

test('is valid for its names for ten years, from an authority for end certificates only', async () => {
  const { ca, cert } = await makeServerCertificate(NAMES, new Date('2026-11-21T12:00:00Z'));
  const [authority, server] = [new X509Certificate(ca), new X509Certificate(cert)];
  expect(server.subjectAltName).toBe('DNS:gwk-internal.messages.svc, DNS:gwk-internal');
  expect(server.validFromDate).toEqual(new Date('2026-11-20T12:00:00Z'));
  expect(server.validToDate).toEqual(new Date('2036-11-18T12:00:00Z'));
  expect(server.ca).toBe(false);
  expect(authority.ca).toBe(true);
  expect(server.checkIssued(authority)).toBe(true);
  expect(server.verify(authority.publicKey)).toBe(true);
});

async function ask(serverCa: ServerCertificate, ca: string, servername: string) {
  const { cert, key } = serverCa;
  const server = createServer({ cert, key }, (_, response) => response.end('ok')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    return await new Promise<string>((resolve) => {
      request({ host: '127.0.0.1', port, ca, servername, agent: false }, (answer) => {
        answer.resume();
        resolve('trusted');
      })
        .on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
        .end();
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test.each([
  ['trusts its own authority and names', 'own', 'gwk-internal', 'trusted'],
  [
    'rejects the authority of another installation',
    'other',
    'gwk-internal',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ],
  ['rejects another name', 'own', 'elsewhere', 'ERR_TLS_CERT_ALTNAME_INVALID'],
])('%s', async (_case, whose, name, outcome) => {
  const made = await makeServerCertificate(NAMES);
  const { ca } = whose === 'own' ? made : await makeServerCertificate(NAMES);
  expect(await ask(made, ca, name)).toBe(outcome);
});

test('gives every certificate a unique serial number', async () => {
  const made = await Promise.all(Array.from({ length: 20 }, () => makeServerCertificate(NAMES)));
  const numbers = made.map(({ cert }) => new X509Certificate(cert).serialNumber);
  expect(new Set(numbers).size).toBe(20);
});
