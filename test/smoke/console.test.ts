import type { Browser } from 'playwright-core';
import type { PairingOut } from '@gwk/core/resources/pairing';
import { describeWithChromium, startChromium } from '../console/chromium.js';
import { until } from '../support/wait.js';
import { SharedGateway } from './shared-gateway.js';
import { joinGateway } from './shared-stage.js';

/** One walk through the console. test/console has every page. */
describeWithChromium('the console', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium();
  });
  afterAll(() => browser?.close());

  test('a link opens the overview, a phone is linked, and a sent message is in the list', async () => {
    const gateway = SharedGateway.get();
    const { client, account } = await joinGateway(gateway, 'console');
    const email = `${account.id}@example.com`;
    await gateway.gwk('user', 'create', email, '--name', 'Ana', '--account', account.name, '--role', 'owner');
    const { url } = await gateway.gwk<{ url: string }>('user', 'handoff', email);
    const context = await browser.newContext({ locale: 'en-US' });
    const page = await context.newPage();
    await page.goto(`${gateway.urls[0]!}/console/handoff${new URL(url).hash}`);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();

    const shop = await gateway.numbers.phone('5511955517001', { name: 'Shop' });
    await gateway.numbers.phone('5511955517002', { name: 'Customer' });
    await page.getByRole('link', { name: 'Numbers', exact: true }).click();
    await page.getByRole('button', { name: 'New number' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Main shop');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByAltText('QR code to scan with the phone').waitFor();
    const id = /ins_[0-9a-f]{32}/.exec(page.url())![0];
    const readCode = async () =>
      (await client.call<PairingOut>('GET', `/v1/instances/${id}/pairing`)).body.qr?.code;
    await shop.scan(await until(readCode, { what: 'the network has given a code' }));
    await page.getByRole('heading', { name: 'The phone is linked' }).waitFor();

    await page.goto(`${gateway.urls[0]!}/console/${account.id}/messages/new?number=${id}`);
    await page.getByRole('textbox', { name: 'To' }).fill('5511955517002');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.waitForURL('**/messages/msg_*');
    const message = /msg_[0-9a-f]{32}/.exec(page.url())![0];
    await page.getByRole('link', { name: 'Messages', exact: true }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    await page.locator(`a[href$="/messages/${message}"]`).first().waitFor();
  });
});
