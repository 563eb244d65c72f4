import type { Page } from 'playwright-core';
import type { WebhookEndpointOut } from '@gwk/api/resources/webhook';
import type { InstanceOut } from '@gwk/api/resources/instance';
import { until } from '../support/wait.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, show, takePicture } from './stage.js';

const PHONE = { width: 390, height: 800 };

describeWithChromium('the screens of the console', () => {
  let stage: ConsoleStage;
  let page: Page;
  let phone: Page;
  /** Path of each screen by name. */
  let paths: Record<string, string>;

  beforeAll(async () => {
    stage = await ConsoleStage.open('screens');
    paths = await createContent(stage);
    page = await stage.signIn({ colorScheme: 'light' });
    phone = await stage.signIn({ viewport: PHONE, colorScheme: 'dark', locale: 'pt-BR' });
  });
  afterAll(() => stage?.close());

  const NAMES = [
    'overview',
    'numbers',
    'number',
    'availability',
    'policy',
    'try',
    'settings',
    'pairing',
    'conversations',
    'conversation',
    'messages',
    'message',
    'send',
    'opt-outs',
    'webhooks',
    'new-webhook',
    'webhook',
    'delivery',
    'events',
    'event',
    'keys',
    'team',
    'account',
    'account-policy',
    'alert-contacts',
    'audit-log',
    'formats',
    'profile',
    'not-found',
  ];

  test.each(NAMES)('%s: has a heading and no serious violation that axe finds', async (name) => {
    await show(page, stage.at(paths[name]!));
    expect(await findViolations(page)).toEqual([]);
    await takePicture(page, name);
  });

  test.each(NAMES)('%s: is not wider than a phone, and readable in the dark', async (name) => {
    await show(phone, stage.at(paths[name]!));
    const tooWide = await phone.evaluate('document.documentElement.scrollWidth > innerWidth');
    expect(tooWide).toBe(false);
    expect(await findViolations(phone)).toEqual([]);
    await takePicture(phone, `${name}-phone`);
  });

  describe('for administrators of the platform', () => {
    const ADMIN = 'paula@example.com';
    let admin: Page;
    let adminPhone: Page;
    beforeAll(async () => {
      await stage.createPlatformAdmin(ADMIN);
      admin = await stage.signIn({ colorScheme: 'light' }, ADMIN);
      adminPhone = await stage.signIn({ viewport: PHONE, colorScheme: 'dark', locale: 'pt-BR' }, ADMIN);
    });
    const find = (name: string) => (name === 'account' ? `accounts/${stage.customer.account.id}` : name);

    const PLATFORM = ['overview', 'accounts', 'account', 'numbers'];
    test.each(PLATFORM)(
      'platform-%s: has a heading and no serious violation that axe finds',
      async (name) => {
        await show(admin, stage.atPlatform(find(name)));
        expect(await findViolations(admin)).toEqual([]);
        await takePicture(admin, `platform-${name}`);
      },
    );

    test.each(PLATFORM)('platform-%s: is not wider than a phone, and readable in the dark', async (name) => {
      await show(adminPhone, stage.atPlatform(find(name)));
      const tooWide = await adminPhone.evaluate('document.documentElement.scrollWidth > innerWidth');
      expect(tooWide).toBe(false);
      expect(await findViolations(adminPhone)).toEqual([]);
      await takePicture(adminPhone, `platform-${name}-phone`);
    });
  });

  test('the browser chooses the language, and the menu changes it for the next visit too', async () => {
    await show(phone, stage.at('numbers'));
    expect(await phone.getByRole('heading', { level: 1 }).textContent()).toBe('Números');
    await phone.getByRole('button', { name: 'Idioma' }).click();
    await phone.getByRole('menuitem', { name: 'English' }).click();
    await phone.getByRole('heading', { level: 1, name: 'Numbers' }).waitFor();
    expect(await phone.evaluate('document.documentElement.lang')).toBe('en');
    await show(phone, stage.at('numbers'));
    expect(await phone.getByRole('heading', { level: 1 }).textContent()).toBe('Numbers');
  });

  test('the first load needs at most 250 kB of compressed script', async () => {
    const fresh = await stage.newPage();
    const sizes: Promise<number>[] = [];
    fresh.on('requestfinished', (request) => {
      if (request.resourceType() === 'script')
        sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    });
    await fresh.goto(stage.at('numbers'));
    await fresh.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThan(250_000);
  });

  test('no page violated its Content-Security-Policy or threw', () => {
    expect(stage.faults).toEqual([]);
  });
});

/** Creates one of everything that the screens show. */
async function createContent({ customer: { client } }: ConsoleStage): Promise<Record<string, string>> {
  const sandbox = await client.connectedInstance('Test shop');
  const { id } = await client.expect<InstanceOut>(201, 'POST', '/v1/instances', {
    body: { name: 'Main shop', kind: 'web' },
  });
  const endpoint = await client.expect<WebhookEndpointOut>(201, 'POST', '/v1/webhook-endpoints', {
    body: { url: 'https://example.com/hook' },
  });
  // The sandbox refuses this recipient.
  const message = await client.acceptedText(sandbox.id, '5511987650000', 'Bom dia');
  await until(async () => (await client.message(message.id)).status === 'failed', {
    what: 'the message fails',
  });
  await client.expect(200, 'POST', `/v1/instances/${sandbox.id}/sandbox/inbound`, {
    body: { from: '5511912345678', text: 'SAIR' },
  });
  const [event] = await client.events({ instance_id: sandbox.id });
  const delivery = await until(async () => (await client.deliveries(endpoint.id))[0], { what: 'a delivery' });
  return {
    overview: 'overview',
    numbers: 'numbers',
    number: `numbers/${sandbox.id}`,
    availability: `numbers/${sandbox.id}?tab=availability`,
    policy: `numbers/${sandbox.id}?tab=policy`,
    try: `numbers/${sandbox.id}?tab=try`,
    settings: `numbers/${sandbox.id}?tab=settings`,
    pairing: `numbers/${id}/pairing`,
    conversations: 'conversations',
    conversation: `conversations?conversation=${(await client.message(message.id)).conversation_id}`,
    messages: 'messages',
    message: `messages/${message.id}`,
    send: `messages/new?number=${sandbox.id}`,
    'opt-outs': 'opt-outs',
    webhooks: 'webhooks',
    'new-webhook': 'webhooks/new',
    webhook: `webhooks/${endpoint.id}`,
    delivery: `deliveries/${delivery.id}`,
    events: 'events',
    event: `events/${event!.id}`,
    keys: 'keys',
    team: 'team',
    account: 'account',
    'account-policy': 'account/policy',
    'alert-contacts': 'alert-contacts',
    'audit-log': 'audit-log',
    formats: 'formats',
    profile: 'profile',
    'not-found': 'nothing',
  };
}
