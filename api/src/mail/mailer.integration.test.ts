import { once } from 'node:events';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { mailSettings } from '../config/mail.js';
import { loadConfig } from '@gwk/core/config/load';
import { proxySettings } from '@gwk/core/config/proxy';
import { startMailServer, type MailServer } from '@gwk/test/support/servers/mail-server';
import { buildProxyUrl, PROXY_CA, startProxy, type ProxyKind } from '@gwk/test/support/servers/proxies';
import { MailError, openMailer, type Mail } from './mailer.js';

const MAIL: Mail = {
  to: 'ana@example.com',
  id: 'alert-1',
  language: 'pt-BR',
  subject: 'Número “loja” desconectado ⚠️',
  paragraphs: ['O número está desconectado há 5 minutos.'],
  link: { label: 'Abrir o console', url: 'https://gwk.example.org/console' },
};

const settings = { ...mailSettings, ...proxySettings('GWK_API', 'tests') };
let server: MailServer;
afterEach(() => server?.stop());

function mailer(given: Record<string, string> = {}) {
  return openMailer(loadConfig(settings, { ...server.settings, ...given }))!;
}

async function refusal(sending: Promise<void>) {
  const error = await sending.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(MailError);
  return error as MailError;
}

test('sends plain text and HTML with a stable Message-ID', async () => {
  server = await startMailServer();
  await mailer().send(MAIL);
  await mailer().send(MAIL);
  expect(server.mails.map(({ from, to }) => [from, to])).toEqual([
    ['gwk@example.org', ['ana@example.com']],
    ['gwk@example.org', ['ana@example.com']],
  ]);
  const { headers, text } = server.mails[0]!;
  expect(headers.get('message-id')).toBe('<alert-1@example.org>');
  expect(server.mails[1]!.headers.get('message-id')).toBe('<alert-1@example.org>');
  expect(headers.get('auto-submitted')).toBe('auto-generated');
  expect(headers.get('from')).toBe('gwk <gwk@example.org>');
  expect(headers.get('content-type')).toMatch(/^multipart\/alternative/);
  expect(server.mails[0]!.subject).toBe(MAIL.subject);
  expect(text).toContain('O número está desconectado há 5 minutos.');
  expect(text).toContain('https://gwk.example.org/console');
});

test('encrypts by STARTTLS and verifies the certificate', async () => {
  server = await startMailServer({ starttls: true });
  await mailer({ GWK_SMTP_TLS: 'starttls' })
    .send(MAIL)
    .catch(() => undefined);
  expect(server.mails).toEqual([]);
  const trusted = { GWK_SMTP_TLS: 'starttls', GWK_SMTP_CA: server.ca };
  await mailer(trusted).send(MAIL);
  expect(server.mails.map(({ secure }) => secure)).toEqual([true]);
});

test('sends nothing in the clear to a server without STARTTLS', async () => {
  server = await startMailServer();
  expect((await refusal(mailer({ GWK_SMTP_TLS: 'starttls' }).send(MAIL))).code).toBe('ETLS');
  expect(server.mails).toEqual([]);
});

test('starts with TLS at a server that requires it', async () => {
  server = await startMailServer({ secure: true });
  await mailer({ GWK_SMTP_TLS: 'tls', GWK_SMTP_CA: server.ca }).send(MAIL);
  expect(server.mails.map(({ secure }) => secure)).toEqual([true]);
});

test('signs in, and reports a refused sign-in as one that may succeed later', async () => {
  server = await startMailServer({ user: 'gwk', password: 'right' });
  await mailer({ GWK_SMTP_USER: 'gwk', GWK_SMTP_PASSWORD: 'right' }).send(MAIL);
  expect(server.mails).toHaveLength(1);
  const error = await refusal(mailer({ GWK_SMTP_USER: 'gwk', GWK_SMTP_PASSWORD: 'wrong' }).send(MAIL));
  expect([error.code, error.status, error.permanent]).toEqual(['EAUTH', 535, false]);
  expect(`${error.message} ${error.stack}`).not.toMatch(/wrong|ana@/);
});

test('does not send without signing in if the server offers no sign-in', async () => {
  server = await startMailServer();
  expect((await refusal(mailer({ GWK_SMTP_USER: 'gwk', GWK_SMTP_PASSWORD: 'x' }).send(MAIL))).code).toBe(
    'EAUTH',
  );
  expect(server.mails).toEqual([]);
});

test('reports a refused recipient as permanent, without the address', async () => {
  server = await startMailServer({ refusedRecipient: MAIL.to });
  const error = await refusal(mailer().send(MAIL));
  expect([error.status, error.permanent]).toEqual([550, true]);
  expect(`${error.message} ${error.stack}`).not.toContain(MAIL.to);
});

test('sends to one address, whatever commas it contains', async () => {
  server = await startMailServer();
  await mailer()
    .send({ ...MAIL, to: 'ana@example.com, other@example.com' })
    .catch(() => undefined);
  expect(server.mails.flatMap(({ to }) => to)).not.toContain('other@example.com');
});

test('a subject with line breaks adds no header', async () => {
  server = await startMailServer();
  await mailer().send({ ...MAIL, subject: 'Hi\r\nBcc: other@example.com' });
  expect(server.mails[0]!.to).toEqual([MAIL.to]);
  expect(server.mails[0]!.headers.has('bcc')).toBe(false);
});

test('fails if the server is down', async () => {
  server = await startMailServer();
  const down = mailer();
  await server.stop();
  const error = await refusal(down.send(MAIL));
  expect([error.code, error.status, error.permanent]).toEqual(['ESOCKET', null, false]);
});

test('ends at its time limit if the server does not answer', async () => {
  const silent = createServer();
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  server = await startMailServer();
  const port = (silent.address() as { port: number }).port;
  const error = await refusal(mailer({ GWK_SMTP_PORT: String(port) }).send(MAIL, 50));
  expect([error.code, error.permanent]).toEqual(['EABORT', false]);
  silent.close();
  await once(silent, 'close');
});

test('needs a sender address with a server, and is absent without one', () => {
  expect(openMailer(loadConfig(settings, {}))).toBeNull();
  expect(() => openMailer(loadConfig(settings, { GWK_SMTP_HOST: 'localhost' }))).toThrow(/GWK_SMTP_FROM/);
});

describe.each<ProxyKind>(['http', 'https', 'socks5'])('through a proxy (%s)', (kind) => {
  const HOST = 'mail.example.com';

  test.each(['starttls', 'tls'])('sends with TLS of the server (%s)', async (mode) => {
    server = await startMailServer({ [mode === 'tls' ? 'secure' : 'starttls']: true });
    const proxy = await startProxy(kind);
    const route = { HTTPS_PROXY: proxy.url, GWK_API_PROXY_CA: PROXY_CA };
    // Only the proxy can resolve this name.
    const secure = { ...route, GWK_SMTP_TLS: mode, GWK_SMTP_CA: server.ca };
    await mailer({ ...secure, GWK_SMTP_HOST: HOST }).send(MAIL);
    expect(proxy.opened).toEqual([`${HOST}:${server.settings['GWK_SMTP_PORT']}`]);
    await mailer(secure).send(MAIL);
    // localhost is reached directly.
    expect(proxy.opened).toHaveLength(1);
    expect(server.mails.map((mail) => mail.secure)).toEqual([true, true]);
    await proxy.stop();
  });

  test('reports a refused login and a proxy that is down, without the password', async () => {
    server = await startMailServer();
    const proxy = await startProxy(kind);
    const route = {
      GWK_SMTP_HOST: HOST,
      GWK_API_PROXY_CA: PROXY_CA,
      HTTPS_PROXY: buildProxyUrl(kind, proxy.port, 'wrong-word'),
    };
    const refused = await refusal(mailer(route).send(MAIL));
    expect([refused.code, refused.permanent]).toEqual(['proxy_login_refused', false]);
    await proxy.stop();
    const down = await refusal(mailer(route).send(MAIL));
    expect([down.code, down.permanent]).toEqual(['proxy_unreachable', false]);
    expect(inspect([refused, down], { depth: 9, showHidden: true })).not.toContain('wrong-word');
  });
});
