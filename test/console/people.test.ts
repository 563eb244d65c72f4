import type { InstanceOut } from '@gwk/api/resources/instance';
import type { PairingOut } from '@gwk/core/resources/pairing';
import type { Person } from '@gwk/network/control/client';
import type { Page } from 'playwright-core';
import { until } from '../support/wait.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, show, takePicture } from './stage.js';

/** People with and without a phone number, who have written to a number of the account. */
describeWithChromium('people in the console', () => {
  let stage: ConsoleStage;
  let page: Page;
  let eva: Person;
  beforeAll(async () => {
    stage = await ConsoleStage.open('people');
    const { network, customer } = stage;
    const { client } = customer;
    const phone = await network.phone('5511955550001', { name: 'Shop' });
    const { id }: InstanceOut = await client.createInstance('Shop', 'web');
    const shown = await client.expect<PairingOut>(200, 'POST', `/v1/instances/${id}/pairing`);
    await phone.scan(shown.qr!.code);
    await until(async () => (await client.instance(id)).state === 'connected', { what: 'it is connected' });
    eva = await network.contact('5511900000001', { name: 'Eva Lima', phoneHidden: true });
    const ana = await network.contact('5511987654321', { name: 'Ana' });
    const lia = await network.contact('5511900000002', { name: '', username: 'lia.s', phoneHidden: true });
    for (const [index, person] of [eva, ana, lia].entries()) {
      await person.writes('oi', { to: phone.number });
      const isReceived = async () => (await client.messages({ instance_id: id })).length > index;
      await until(isReceived, { what: 'the message is received' });
    }
    await client.sendText(id, '5521922220000', 'oi');
    page = await stage.signIn();
  });
  afterAll(() => stage?.close());

  const contacts = () => page.locator('tbody tr td:first-child a').allTextContents();
  const search = async (text: string, option: string | RegExp) => {
    await page.getByRole('combobox', { name: 'Contact' }).fill(text);
    await page.getByRole('option', { name: option }).click();
  };

  test('are shown by name or phone number, and searched by all that is known of them', async () => {
    await show(page, stage.at('messages'));
    expect(await contacts()).toEqual([
      '+55 21 92222 0000',
      expect.stringMatching(/^@lia\.s\d+@lid$/) as string,
      'Ana+55 11 98765 4321',
      `Eva Lima${eva.lidJid}`,
    ]);
    await takePicture(page, 'people-messages');
    for (const text of ['lima', eva.lidJid, eva.lidJid.slice(0, 9)]) {
      await search(text, /Eva Lima/);
      await page.waitForURL(`**/messages?to=${encodeURIComponent(eva.lidJid)}`);
      await until(async () => (await contacts()).length === 1, { what: 'one message is left' });
      expect(await contacts()).toEqual([`Eva Lima${eva.lidJid}`]);
    }
    await search('@lia', /@lia\.s/);
    await until(async () => (await contacts())[0]?.startsWith('@lia.s'), { what: 'her message is left' });
    await search('lima', /Eva Lima/);
    await page.reload();
    await page.getByRole('combobox', { name: 'Contact' }).and(page.locator('[value="Eva Lima"]')).waitFor();
    await page.getByRole('combobox', { name: 'Contact' }).fill('(11) 98765');
    await page.getByRole('option', { name: /Ana/ }).waitFor();
    await takePicture(page, 'people-search');
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('option', { name: /Ana/ }).click();
    await until(async () => (await contacts())[0]?.startsWith('Ana'), { what: 'the message of Ana is left' });
    await page.getByRole('link', { name: /Ana/ }).click();
    await page.getByRole('row', { name: 'Contact' }).getByText('+55 11 98765 4321').waitFor();
  });

  test('fit on a phone', async () => {
    const narrow = await stage.signIn({ viewport: { width: 390, height: 800 } });
    await show(narrow, stage.at('messages'));
    await narrow.getByText('Eva Lima').waitFor();
    expect(await narrow.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false);
    await takePicture(narrow, 'people-phone');
  });

  test('a phone number that nobody has can be searched as it is written', async () => {
    await show(page, stage.at('messages'));
    await search('+55 31 93333-0000', '+55 31 93333 0000');
    await page.waitForURL('**/messages?to=5531933330000');
    await page.getByText('No message matches these filters').waitFor();
    await page.getByRole('combobox', { name: 'Contact' }).fill('zzz');
    await page.getByText('Nobody found').waitFor();
  });

  test('a person without a phone number is opted out by the id, found, and opted in again', async () => {
    await show(page, stage.at('opt-outs'));
    const form = page.locator('form').filter({ hasText: 'Add an opt-out' });
    await form.getByRole('textbox', { name: 'Phone number or id' }).fill(eva.lidJid);
    await form.getByRole('button', { name: 'Add an opt-out' }).click();
    const row = page.getByRole('row', { name: /Eva Lima/ });
    await row.waitFor();
    await form.getByRole('textbox', { name: 'Phone number or id' }).fill('+55 (21) 92222-0000');
    await form.getByRole('button', { name: 'Add an opt-out' }).click();
    await page.getByRole('row', { name: /92222/ }).waitFor();
    await search('21922', /92222/);
    await row.waitFor({ state: 'detached' });
    await search('lima', /Eva/);
    await row.waitFor();
    await takePicture(page, 'people-opt-outs');
    expect(await findViolations(page)).toEqual([]);
    await row.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByText('Remove the opt-out of Eva Lima?').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No opt-outs found').waitFor();
    expect(stage.faults).toEqual([]);
  });
});
