import { hash, randomBytes } from 'node:crypto';
import { toPublicId } from '@gwk/core/ids/ids';
import { setUpTotp } from '../support/api/authenticator.js';
import { ApiClient } from '../support/api/client.js';
import { Browser } from '../support/api/console.js';
import { Gateway } from '../support/gateway/gateway.js';
import { startMailServer, type MailServer } from '../support/servers/mail-server.js';
import { until } from '../support/wait.js';

const DEBUG = { GWK_LOG_LEVEL: 'debug' };
const EMAIL = 'ana@example.com';
const NAMED = /"(user\.(sign-in|sign-in-failed|password|reset-request|totp-set)|member\.join|key\.create)"/;

/** Real programs, and people who do everything for which the console asks or shows a secret. */
describe('the logs of the console', () => {
  let gateway: Gateway;
  let mails: MailServer;
  const secrets = new Map<string, string>();
  const keep = (name: string, value = `secret-${randomBytes(12).toString('hex')}`): string => {
    secrets.set(name, value);
    return value;
  };
  const platformToken = keep('platform token', randomBytes(24).toString('hex'));

  beforeAll(async () => {
    mails = await startMailServer();
    const api = { ...DEBUG, ...mails.settings, GWK_API_CONSOLE_PLATFORM_TOKEN: platformToken };
    gateway = await Gateway.start({ settings: { api, worker: DEBUG, operator: DEBUG } });
    await useConsole();
    // Errors with their causes are logged too.
    await mails.stop();
    await request('POST', '/console/api/password-resets', { email: EMAIL });
    const ofWorker = () => [...gateway.logs().values()].flat().filter((line) => line.includes('"audit_id"'));
    await until(() => ofWorker().some((line) => line.includes('user.reset-not-sent')), {
      what: 'the worker has logged the audit log',
    });
  });
  afterAll(async () => {
    await gateway?.stop();
    await mails?.stop();
  });

  function openBrowser(): Browser {
    const url = new URL(gateway.urls[0]!);
    const port = Number(url.port);
    const browser = new Browser({ port, client: () => new ApiClient(port, null) });
    browser.headers['origin'] = url.origin;
    return browser;
  }
  const request = (method: string, path: string, body: unknown) => openBrowser().call(method, path, { body });

  async function useConsole(): Promise<void> {
    await gateway.gwk('account', 'create', 'acme');
    await gateway.gwk('user', 'create', EMAIL, '--account', 'acme');
    const { password } = await gateway.gwk<{ password: string }>('user', 'reset', EMAIL);
    keep('password of gwk user reset', password);
    const browser = openBrowser();
    await browser.signIn(EMAIL, keep('wrong password'));
    // People type their password into the wrong field.
    await browser.signIn(keep('password as e-mail'), password);
    await browser.signIn(`${keep('password as unknown e-mail')}@example.com`, password);
    await browser.call('POST', '/console/api/session', { body: `{"password":"${keep('broken JSON')}` });
    const opened = await browser.signIn(EMAIL, password);
    expect(opened.status).toBe(200);
    keepCookie(browser, 'session');
    const [account] = opened.body.accounts;
    browser.headers['x-gwk-account'] = account!.id;
    await changePassword(browser, password);
    await useLinks(browser);
    await useSecondFactor(browser);
    const key = await browser.call<{ api_key: string }>('POST', '/console/api/keys', {
      body: { name: 'shop', scopes: ['messages:read'] },
    });
    keep('API key', key.body.api_key);
    await approveKey(browser);
  }

  async function approveKey(browser: Browser): Promise<void> {
    const path = '/console/api/key-approvals';
    const verifier = keep('verifier', randomBytes(32).toString('base64url'));
    const approved = await browser.call<{ code: string }>('POST', path, {
      body: { name: 'laptop', scopes: ['messages:read'], challenge: hash('sha256', verifier) },
    });
    const code = keep('code of the approval', approved.body.code);
    const redeemed = await openBrowser().call<{ api_key: string }>('POST', `${path}/redeem`, {
      body: { code, verifier },
    });
    keep('approved API key', redeemed.body.api_key);
  }

  const keepCookie = (browser: Browser, name: string) => {
    keep(`cookie of ${name}`, browser.headers['cookie']!.split('=')[1]);
    if (browser.headers['x-csrf-token']) keep(`CSRF token of ${name}`, browser.headers['x-csrf-token']);
  };

  async function changePassword(browser: Browser, current: string): Promise<void> {
    const path = '/console/api/profile/password';
    await browser.call('POST', path, { body: { current: keep('wrong current'), password: keep('refused') } });
    const changed = await browser.call('POST', path, {
      body: { current, password: keep('changed password') },
    });
    expect(changed.status).toBe(204);
  }

  async function useLinks(browser: Browser): Promise<void> {
    const invited = await browser.call<{ url: string }>('POST', '/console/api/invitations', {
      body: { email: 'eva@example.com', role: 'viewer' },
    });
    const token = keep('invitation', invited.body.url.split('#token=')[1]);
    const acceptance = { token, name: 'Eva', password: keep('password of the invited person') };
    expect((await request('POST', '/console/api/invitations/accept', acceptance)).status).toBe(200);
    const { port } = new URL(gateway.urls[0]!);
    const portal = await new ApiClient(Number(port), null).call<{ url: string }>(
      'POST',
      '/console/api/handoffs',
      { body: { email: EMAIL }, headers: { authorization: `Bearer ${platformToken}` } },
    );
    const handoff = openBrowser();
    await handoff.open('/handoff', { token: keep('hand-off', portal.body.url.split('#token=')[1]) });
    keepCookie(handoff, 'the hand-off');
    mails.mails.length = 0;
    await request('POST', '/console/api/password-resets', { email: 'eva@example.com' });
    const mail = await until(() => mails.mails[0], { what: 'the mail arrives' });
    const reset = keep('reset link', /#token=([\w-]+)/.exec(mail.text)![1]);
    const body = { token: reset, password: keep('password by reset link') };
    expect((await request('POST', '/console/api/password-resets/redeem', body)).status).toBe(204);
  }

  async function useSecondFactor(browser: Browser): Promise<void> {
    const { app, backupCodes } = await setUpTotp(browser, secrets.get('changed password'));
    backupCodes.forEach((code, n) => keep(`backup code ${n}`, code));
    const pending = openBrowser();
    await pending.signIn(EMAIL, secrets.get('changed password'));
    keepCookie(pending, 'the pending sign-in');
    await pending.open('/code', { code: keep('wrong backup code') });
    const code = app.code(1);
    expect((await pending.open('/code', { code })).status).toBe(200);
    keepCookie(pending, 'the sign-in by code');
  }

  test('have the sign-ins and changes', () => {
    const text = [...gateway.logs().values()].flat().join('\n');
    const actions = new Set([...text.matchAll(new RegExp(NAMED, 'g'))].map(([, action]) => action));
    expect(actions.size).toBe(7);
    expect(text).toContain('"operation":"signIn"');
    expect(text).toMatch(new RegExp(`"user_id":"${toPublicId('user', '').slice(0, 3)}`));
  });

  test('have no password, code, token, cookie or key', () => {
    expect(secrets.size).toBeGreaterThan(30);
    const found = [...gateway.logs()].flatMap(([program, lines]) =>
      lines.flatMap((line) =>
        [...secrets]
          .filter(([, value]) => line.includes(value))
          .map(([name]) => `${name} in ${program}: ${line.slice(0, 200)}`),
      ),
    );
    expect(found).toEqual([]);
  });
});
