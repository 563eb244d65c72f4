import type { PairingOut } from '@gwk/core/resources/pairing';
import type { Person } from '@gwk/network/control/client';
import type { Page } from 'playwright-core';
import { until } from '../support/wait.js';
import { describeWithChromium, type StoredPasskey } from './chromium.js';
import { ExtensionBrowser, INSECURE } from './extension-browser.js';
import { ConsoleStage, findViolations, takePicture } from './stage.js';

/** As the extension opens its window. */
const WINDOW = { width: 480, height: 660 };
const REQUEST = '[data-gwk-passkey]';
/** Records in the title what scripts of a page can receive of the extension. */
const LISTENER = `<script>for (const type of ['gwk-passkey', 'message'])
  addEventListener(type, () => { document.title = 'received'; }, true)</script>`;

/** The browser extension on the console, in Chromium with its virtual authenticator. */
describeWithChromium('the extension for passkeys', () => {
  let stage: ConsoleStage;
  let browser: ExtensionBrowser;
  let page: Page;
  let phone: Person;
  let passkey: StoredPasskey;
  let id: string;

  beforeAll(async () => {
    [stage, browser] = await Promise.all([
      ConsoleStage.open('padaria', { GWK_API_PAIRING_PASSKEYS: 'on' }),
      ExtensionBrowser.open(),
    ]);
    const { client, account } = stage.customer;
    await stage.gateway.gwk('account', 'allow-passkeys', account.name);
    phone = await stage.network.phone('5511955550029', { name: 'Passkey' });
    await phone.behaves({ needsPasskey: true });
    passkey = await stage.network.call('exportPasskey', { number: phone.number });
    ({ id } = await client.createInstance('Padaria Azul', 'web'));
    page = await browser.show(await stage.handoff());
    await page.waitForURL('**/overview');
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  const read = () => stage.customer.client.expect<PairingOut>(200, 'GET', `/v1/instances/${id}/pairing`);

  /** Opens the pairing page and scans its code, until the page waits for the passkey. */
  async function begin(): Promise<string> {
    await page.goto(stage.at(`numbers/${id}/pairing`));
    await page.getByAltText('QR code to scan with the phone').waitFor();
    await expect(phone.scan((await read()).qr!.code)).rejects.toThrow('without a passkey');
    await page.locator(REQUEST).waitFor();
    return (await page.locator(REQUEST).getAttribute('data-gwk-passkey'))!;
  }

  /** A page of another site that shows a request, as the console does. */
  async function showForeign(request: string, origin = browser.foreign): Promise<Page> {
    const attribute = request.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
    browser.pages.set('/request', `<p data-gwk-passkey="${attribute}">Shop</p>${LISTENER}`);
    return browser.show(`${origin}/request`);
  }

  test('links a number whose phone needs its passkey, and no other page receives the answer', async () => {
    const foreign = await showForeign(await begin());
    expect(await findViolations(page)).toEqual([]);
    await takePicture(page, 'passkey-step');
    const window = await browser.press(page);
    expect(await window.locator('#origin').textContent()).toBe(stage.gateway.urls[0]);
    expect(await window.locator('#number').textContent()).toBe('Padaria Azul');
    await window.getByText('This links a device that can read and send all messages').waitFor();
    await window.setViewportSize(WINDOW);
    expect(await findViolations(window)).toEqual([]);
    await takePicture(window, 'passkey-extension');
    await browser.confirm(window, passkey);
    await page.getByRole('heading', { name: 'The phone is linked' }).waitFor();
    expect(await page.getByTestId('linked-phone').textContent()).toBe(`+${phone.number}`);
    expect(window.isClosed()).toBe(true);
    expect(await foreign.title()).toBe('');

    const { client } = stage.customer;
    const ana = await stage.network.contact('5511955550030', { name: 'Ana' });
    const body = { instance_id: id, to: ana.number, type: 'text', text: { body: 'hello' } };
    await client.expect(202, 'POST', '/v1/messages', { body });
    expect(await ana.receives('hello')).toMatchObject({ from: phone.number });
    await ana.writes('oi', { to: phone.number });
    const received = () => client.events({ instance_id: id, type: 'message.received' });
    await until(async () => (await received()).length === 1, { what: 'the message is received' });
    await client.expect(204, 'POST', `/v1/instances/${id}/logout`);
    await until(async () => (await client.instance(id)).state === 'pending_pair', { what: 'it is unlinked' });
  });

  test('gives no answer to a later document of the same tab, though it shows the same request', async () => {
    await begin();
    const window = await browser.press(page);
    await page.reload();
    await page.locator(REQUEST).waitFor();
    await browser.confirm(window, passkey);
    await window.getByText('The console no longer shows this request.').waitFor();
    expect((await read()).passkey).not.toBeNull();
    expect(await page.locator(REQUEST).count()).toBe(1);
  });

  test('gives no answer to a request after which the phone has asked again', async () => {
    const window = await browser.press(page);
    const request = page.locator(REQUEST);
    const before = await request.getAttribute('data-gwk-passkey');
    await stage.network.call('repeatPasskeyRequest', { number: phone.number });
    await until(async () => (await request.getAttribute('data-gwk-passkey')) !== before, {
      what: 'the page shows the other request',
    });
    await browser.confirm(window, passkey);
    await window.getByText('The console no longer shows this request.').waitFor();
    expect((await read()).passkey).not.toBeNull();
  });

  test('shows the origin that the browser knows, and of the claims of a page only harmless characters', async () => {
    const request = await page.locator(REQUEST).getAttribute('data-gwk-passkey');
    const claims = {
      name: '<b>Loja\u0301\u0301\u0301</b>\u202e\u0000\n https://bank.example',
      origin: 'https://bank.example',
    };
    const foreign = await showForeign(JSON.stringify({ ...JSON.parse(request!), ...claims }));
    const window = await browser.press(foreign);
    expect(await window.locator('#origin').textContent()).toBe(browser.foreign);
    expect(await window.locator('#number').textContent()).toBe(
      '<b>Loja\u0301\u0301</b> https://bank.example',
    );
    // A name that fits into its line covers no other line.
    const overflow = "getComputedStyle(document.querySelector('dd:has(#number)')).overflow";
    expect(await window.evaluate(overflow)).toBe('hidden');
    await window.close();
  });

  test('refuses frames, pages without an origin or a request in time, and pages that others can change on their way', async () => {
    const request = (await page.locator(REQUEST).getAttribute('data-gwk-passkey'))!;
    browser.pages.set('/frame', '<iframe src="/request"></iframe>');
    browser.policies.set('/sandboxed', 'sandbox allow-scripts');
    const insecure = await showForeign(request, INSECURE);
    const html = browser.pages.get('/request')!;
    browser.pages.set('/sandboxed', html);
    browser.pages.set('/expired', html.replace(/\d{4}-\d\d-\d\dT/, '2020-01-01T'));
    for (const [tab, reason] of [
      [await browser.show(`${browser.foreign}/frame`), 'This page does not wait for a passkey.'],
      [await browser.show(`${browser.foreign}/sandboxed`), 'This page does not wait for a passkey.'],
      [await browser.show(`${browser.foreign}/expired`), 'check the clock of this computer'],
      [insecure, 'The gateway must use HTTPS'],
    ] as const) {
      const window = await browser.press(tab);
      await window.getByRole('alert').getByText(reason).waitFor();
      expect(await window.getByRole('button', { name: 'Continue' }).count()).toBe(0);
      await window.close();
    }
  });

  test('a page that frames the console step shows nothing of it', async () => {
    browser.pages.set('/framed', `<iframe src="${page.url()}"></iframe>`);
    const framing = await browser.context.newPage();
    const refused = framing.waitForEvent('console', (line) => line.text().includes('frame-ancestors'));
    await framing.goto(`${browser.foreign}/framed`);
    await refused;
    const [, frame] = framing.frames();
    expect(frame!.url()).toBe('chrome-error://chromewebdata/');
    // The same page without a frame has the step, with the same cookies.
    await framing.goto(page.url());
    await framing.locator(REQUEST).waitFor();
  });

  // The last test: the clock of all pages stays ahead.
  test('closes the window of the network at the end of the request, and gives no answer', async () => {
    const request = (await page.locator(REQUEST).getAttribute('data-gwk-passkey'))!;
    await browser.context.clock.install();
    const foreign = await showForeign(request);
    const window = await browser.press(foreign);
    // In a window that the extension opens, the clock can arrive after the first timer.
    await window.reload();
    const network = await browser.proceed(window);
    const closed = network.waitForEvent('close');
    await browser.context.clock.fastForward('30:00');
    await closed;
    await window.getByRole('alert').getByText('The request has ended.').waitFor();
    expect(await foreign.title()).toBe('');
  });
});
