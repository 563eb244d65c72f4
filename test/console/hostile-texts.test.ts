import type { Page } from 'playwright-core';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { WebhookEndpointOut } from '@gwk/api/resources/webhook';
import { until } from '../support/wait.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, show } from './stage.js';

/** Runs a script if any page takes it for HTML. */
const HOSTILE = `"'><img src=x onerror="globalThis.hit=1"><svg onload=hit=1>`;
/** E-mails have neither spaces nor angle brackets. */
const HOSTILE_EMAIL = `'onload='hit=1'&{hit=1}@example.com`;

/** Reports what the policy has stopped, which a page without a fault never causes. */
const LISTENER = `document.addEventListener('securitypolicyviolation', (event) =>
  console.error('Content Security Policy: ' + event.violatedDirective + ' ' + event.blockedURI))`;

describeWithChromium('texts of strangers in the console', () => {
  let stage: ConsoleStage;
  let page: Page;
  /** Path of each page by name. */
  let paths: Record<string, string>;

  beforeAll(async () => {
    stage = await ConsoleStage.open('hostile');
    paths = await createContent(stage);
    page = await stage.signIn();
    await page.addInitScript(LISTENER);
  });
  afterAll(() => stage?.close());

  const SHOWN = ['numbers', 'number', 'webhooks', 'webhook', 'event', 'keys', 'team'];
  const OTHERS = [
    'overview',
    'settings',
    'try',
    'messages',
    'message',
    'send',
    'events',
    'opt-outs',
    'account',
  ];

  test.each([...SHOWN, ...OTHERS])('%s shows them as text', async (name) => {
    await show(page, stage.at(paths[name]!));
    if (SHOWN.includes(name)) await page.getByText('onerror').first().waitFor();
    expect(await page.evaluate('globalThis.hit')).toBeUndefined();
    expect(await page.evaluate('document.querySelectorAll("img[src=x], svg[onload]").length')).toBe(0);
  });

  test('the listener reports what the policy stops', async () => {
    const other = await stage.newPage();
    await other.addInitScript(LISTENER);
    await other.goto(stage.at('profile'));
    await other.evaluate(`document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="hit=1">')`);
    await until(() => stage.faults.length > 0, { what: 'the violation is reported' });
    expect(await other.evaluate('globalThis.hit')).toBeUndefined();
    stage.faults.length = 0;
  });

  test('no page violated its Content-Security-Policy or threw', async () => {
    for (const name of [...SHOWN, ...OTHERS]) await show(page, stage.at(paths[name]!));
    expect(stage.faults).toEqual([]);
  });
});

async function createContent({ gateway, customer }: ConsoleStage): Promise<Record<string, string>> {
  const { client, account } = customer;
  const { id } = await client.expect<InstanceOut>(201, 'POST', '/v1/instances', {
    body: { name: HOSTILE, kind: 'sandbox' },
  });
  await client.expect(200, 'POST', `/v1/instances/${id}/sandbox/inbound`, {
    body: { from: '5511912345678', text: HOSTILE },
  });
  const endpoint = await client.expect<WebhookEndpointOut>(201, 'POST', '/v1/webhook-endpoints', {
    body: { url: 'https://example.com/hook?x="><img/src=x/onerror=hit=1>', description: HOSTILE },
  });
  await gateway.gwk('key', 'create', '--account', account.name, '--scopes', 'all', '--name', HOSTILE);
  const user = ['user', 'create', HOSTILE_EMAIL, '--account', account.name, '--role', 'viewer'];
  await gateway.gwk(...user, '--name', HOSTILE);
  const message = await client.acceptedText(id, '5511987650000', HOSTILE);
  const received = await until(
    async () => (await client.events({ instance_id: id })).find(({ type }) => type === 'message.received'),
    { what: 'the message is received' },
  );
  return {
    overview: 'overview',
    numbers: 'numbers',
    number: `numbers/${id}`,
    settings: `numbers/${id}?tab=settings`,
    try: `numbers/${id}?tab=try`,
    messages: 'messages',
    message: `messages/${message.id}`,
    send: `messages/new?number=${id}`,
    webhooks: 'webhooks',
    webhook: `webhooks/${endpoint.id}`,
    events: 'events',
    event: `events/${received.id}`,
    'opt-outs': 'opt-outs',
    keys: 'keys',
    team: 'team',
    account: 'account',
  };
}
