import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InstanceOut } from '@gwk/api/resources/instance';
import type { PairingOut } from '@gwk/core/resources/pairing';
import type { Person } from '@gwk/network/control/client';
import type { Page } from 'playwright-core';
import { ROOT } from '../support/program.js';
import { newCustomer } from '../support/gateway/customer.js';
import { until } from '../support/wait.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, show, takePicture, takePictures } from './stage.js';

const FILES = join(ROOT, 'examples/media');
const readFile = (name: string) => readFileSync(join(FILES, name));
/** Runs a script if the page takes it for HTML or for an address. */
const HOSTILE = `"><img src=x onerror="globalThis.hit=1"> javascript:globalThis.hit=1`;

const PRESS_ENTER_TWICE = `for (const _ of [1, 2]) document.querySelector('form textarea').dispatchEvent(
  new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))`;

/** People with and without a phone number, who have written to a number of the account. */
describeWithChromium('people in the console', () => {
  let stage: ConsoleStage;
  let page: Page;
  let eva: Person;
  let ana: Person;
  let shop: string;
  beforeAll(async () => {
    stage = await ConsoleStage.open('people');
    const { network, customer } = stage;
    const { client } = customer;
    const phone = await network.phone('5511955550001', { name: 'Shop' });
    const { id }: InstanceOut = await client.createInstance('Shop', 'web');
    shop = id;
    const shown = await client.expect<PairingOut>(200, 'POST', `/v1/instances/${id}/pairing`);
    await phone.scan(shown.qr!.code);
    await until(async () => (await client.instance(id)).state === 'connected', { what: 'it is connected' });
    eva = await network.contact('5511900000001', { name: 'Eva Lima', phoneHidden: true });
    ana = await network.contact('5511987654321', { name: 'Ana' });
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

  describe('as conversations', () => {
    const AGENT = 'agent@example.com';
    const SHOP = '5511955550001';
    /** The request and its two repeats are accepted, and their answers do not arrive. */
    const loseAnswers = (on: Page) =>
      on.route(
        '**/v1/messages',
        async (route) => {
          await route.fetch();
          await route.abort();
        },
        { times: 3 },
      );
    const box = (on: Page) => on.getByRole('textbox', { name: /^(Write a message|Escreva uma mensagem)$/ });
    const bubble = (on: Page, text: string) => on.locator('[data-message]').filter({ hasText: text });
    const wait = (on: Page, text: string, state: string) =>
      bubble(on, text).getByText(state, { exact: false }).first().waitFor();
    /** Waits until the browser has read the file of an element. */
    const loaded = (on: Page, element: string, property: string) =>
      until(
        () => on.evaluate<boolean>(`document.querySelector('[data-message] ${element}')?.${property} > 0`),
        {
          what: `the ${element} is loaded`,
        },
      );
    let opened: string;
    let asked: string;

    beforeAll(async () => {
      await stage.createUser(AGENT, 'agent');
      const files: [Parameters<Person['writesFile']>[0], string, object][] = [
        ['image', 'photo.jpg', { mimetype: 'image/jpeg', caption: 'Chegou assim' }],
        ['audio', 'voice.mp3', { mimetype: 'audio/mpeg', ptt: true, seconds: 2 }],
        ['video', 'clip.mp4', {}],
        ['document', 'photo.jpg', { fileName: 'pedido.html', mimetype: 'text/html' }],
      ];
      for (const [kind, file, fields] of files)
        await ana.writesFile(kind, readFile(file), { to: SHOP, fields });
      await ana.writes(
        { locationMessage: { degreesLatitude: -23.55, degreesLongitude: -46.63, name: 'Casa da Ana' } },
        { to: SHOP },
      );
      asked = await ana.writes('Pode trcar?', { to: SHOP });
      await ana.edits(asked, 'Pode trocar? https://example.com/pedido', { to: SHOP });
      await ana.reacts(asked, '🙏', { to: SHOP });
      const mallory = await stage.network.contact('5511900000003', { name: HOSTILE });
      await mallory.writes(HOSTILE, { to: SHOP });
      const received = async () => (await stage.customer.client.messages({ instance_id: shop })).length;
      await until(async () => (await received()) === 11, { what: 'all is received' });
      const options = ['Manhã', 'Tarde'].map((label, index) => ({ id: String(index), label }));
      await stage.customer.client.expect(202, 'POST', '/v1/messages', {
        body: { instance_id: shop, to: ana.number, type: 'poll', poll: { name: 'Quando?', options } },
      });
      await ana.votes(await ana.receives('Quando?'), ['Manhã']);
      await ana.callsNumber(SHOP);
      await until(
        async () =>
          (await stage.customer.client.events({ instance_id: shop, type: 'call.received' })).length > 0,
        { what: 'the call is reported' },
      );
    });

    test('an agent finds Ana on a phone, reads her picture, answers with one, and sees it read', async () => {
      const phone = await stage.signIn(
        { viewport: { width: 390, height: 800 }, locale: 'pt-BR', hasTouch: true },
        AGENT,
      );
      await phone.getByRole('button', { name: 'Menu' }).tap();
      await phone.getByRole('link', { name: 'Conversas' }).tap();
      await phone.getByRole('textbox', { name: 'Buscar' }).fill('ana');
      await phone.getByRole('link', { name: /Eva/ }).waitFor({ state: 'detached' });
      await takePicture(phone, 'conversations-list-phone');
      expect(await findViolations(phone)).toEqual([]);
      await phone.getByRole('link', { name: /Ana/ }).tap();
      await bubble(phone, 'Pode trocar?').waitFor();
      await bubble(phone, 'Chegou assim').scrollIntoViewIfNeeded();
      await loaded(phone, 'img', 'naturalWidth');
      await phone.locator('input[type=file]').setInputFiles(join(FILES, 'photo.jpg'));
      await box(phone).fill('Troco sim');
      await phone.getByRole('button', { name: 'Enviar' }).tap();
      const sent = await ana.receives('Troco sim');
      expect((await ana.opens(sent)).length).toBeGreaterThan(1_000);
      await ana.reads(sent);
      await wait(phone, 'Troco sim', 'Lida');
      await takePicture(phone, 'conversations-thread-phone');
      await phone.getByRole('link', { name: 'Voltar às conversas' }).tap();
      await phone.getByRole('heading', { level: 1, name: 'Conversas' }).waitFor();
      await phone.context().close();
    });

    test('show each kind of message, and have no fault in light, dark and on a phone', async () => {
      await show(page, stage.at('conversations'));
      await page.getByRole('link', { name: /^Ana/ }).click();
      await bubble(page, 'Chegou assim').waitFor();
      opened = page.url();
      await bubble(page, 'pedido.html').waitFor();
      await bubble(page, 'Casa da Ana').getByRole('link', { name: '-23.55, -46.63' }).waitFor();
      const edited = bubble(page, 'Pode trocar?');
      await edited.getByRole('link', { name: 'https://example.com/pedido' }).waitFor();
      expect(await edited.textContent()).toMatch(/edited.*🙏 Ana/);
      // Files are read when they come into view.
      for (const [player, near] of [
        ['video', '4.9 kB'],
        ['audio', '8.4 kB'],
      ] as const) {
        await bubble(page, near).scrollIntoViewIfNeeded();
        await loaded(page, player, 'readyState');
      }
      await bubble(page, 'Manhã: 1 person (Ana)').getByText('Poll').waitFor();
      await page.getByText('Voice call from Ana').waitFor();
      expect(await findViolations(page)).toEqual([]);
      await takePicture(page, 'conversations-media');
    });

    test('Enter twice and lost answers send once', async () => {
      await page.goto(opened);
      await box(page).fill('Uma vez');
      await page.evaluate(PRESS_ENTER_TWICE);
      await ana.receives('Uma vez');
      for (const [text, button] of [
        ['Sem resposta', 'Try again'],
        ['De volta', 'Back to editing'],
      ] as const) {
        await loseAnswers(page);
        await box(page).fill(text);
        await box(page).press('Enter');
        await page.getByText('No answer arrived, so this message may have been sent').waitFor();
        await page.getByRole('button', { name: button }).click();
        if (button === 'Back to editing') await box(page).press('Enter');
        await wait(page, text, 'Delivered');
      }
      await box(page).fill('Por fim');
      await box(page).press('Enter');
      await ana.receives('Por fim');
      const texts = (await ana.inbox()).map((message) => message.text);
      for (const text of ['Uma vez', 'Sem resposta', 'De volta', 'Por fim'])
        expect(texts.filter((other) => other === text)).toHaveLength(1);
    });

    test('keep a draft, reply to a message and react to it', async () => {
      await page.goto(opened);
      const message = bubble(page, 'Pode trocar?');
      await message.getByRole('button', { name: /^Actions/ }).click();
      await page.getByRole('menuitem', { name: 'React with 👍' }).click();
      await message.getByText('👍 You').waitFor();
      await message.getByRole('button', { name: /^Actions/ }).click();
      await page.getByRole('menuitem', { name: 'Reply' }).click();
      await box(page).fill('Rascunho');
      await page.getByRole('link', { name: /^Eva/ }).click();
      await page.getByRole('heading', { level: 2, name: 'Eva Lima' }).waitFor();
      expect(await box(page).inputValue()).toBe('');
      await page.getByRole('link', { name: /^Ana/ }).click();
      await page.getByText('Reply to Ana').waitFor();
      expect(await box(page).inputValue()).toBe('Rascunho');
      await box(page).press('Enter');
      expect(await ana.receives('Rascunho')).toMatchObject({
        message: { extendedTextMessage: { contextInfo: { stanzaId: asked } } },
      });
      await wait(page, 'Rascunho', 'Delivered');
      await bubble(page, 'Rascunho').getByText('Pode trocar?').waitFor();
      await takePictures(page, 'conversations');
      await page.setViewportSize({ width: 1280, height: 720 });
    });

    test('a message, its events and its conversation lead to each other', async () => {
      await page.goto(opened);
      await bubble(page, 'Chegou assim')
        .getByRole('button', { name: /^Actions/ })
        .click();
      await page.getByRole('menuitem', { name: 'Details of the message' }).click();
      await page.getByText('Chegou assim').waitFor();
      await page.getByRole('button', { name: 'Open the picture' }).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await takePicture(page, 'message-content');
      await page.getByRole('link', { name: 'message.received' }).click();
      await page.getByRole('heading', { level: 1, name: 'message.received' }).waitFor();
      await page.getByRole('button', { name: 'Open the picture' }).waitFor();
      await page.getByRole('link', { name: 'Open in the conversation' }).click();
      await bubble(page, 'Chegou assim').waitFor();
    });

    test('say before one writes why nothing can be sent', async () => {
      const { client } = stage.customer;
      await client.expect(201, 'POST', '/v1/opt-outs', { body: { phone: ana.number } });
      await page.goto(opened);
      await page.getByRole('link', { name: /92222 0000/ }).click();
      await page.getByText('The recipient has no WhatsApp account').waitFor();
      expect(await findViolations(page)).toEqual([]);
      await takePicture(page, 'conversations-failed');
      await page.getByRole('link', { name: /^Ana/ }).click();
      await page.getByText('The contact has opted out').waitFor();
      expect(await box(page).count()).toBe(0);
      await client.expect(204, 'DELETE', `/v1/opt-outs/${ana.number}`);
      await page.reload();
      await box(page).waitFor();
    });

    test('names, texts and files of strangers run nothing, and are read by nobody else', async () => {
      await show(page, stage.at('conversations'));
      await page.getByRole('textbox', { name: 'Search' }).fill('onerror');
      await page.getByRole('link', { name: /onerror/ }).click();
      await bubble(page, 'javascript:').waitFor();
      expect(await bubble(page, 'javascript:').getByRole('link').count()).toBe(0);
      expect(await page.evaluate('globalThis.hit')).toBeUndefined();
      await takePicture(page, 'conversations-hostile');
      expect(stage.faults).toEqual([]);
      const other = await newCustomer(stage.gateway, 'other');
      const events = await stage.customer.client.events({ instance_id: shop, type: 'message.received' });
      const media = events.map(({ data }) => (data['media'] as { media_id: string } | undefined)?.media_id);
      for (const id of media.filter((found) => found !== undefined))
        await other.client.expect(404, 'GET', `/v1/media/${id}`);
      other.close();
    });
  });
});
