import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { uploadFile } from '../support/gateway/customer.js';
import { ROOT } from '../support/program.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, show } from './stage.js';

const FILES = join(ROOT, 'examples/media');

describeWithChromium('the form that sends messages', () => {
  let stage: ConsoleStage;
  let page: Page;
  let sandbox: string;

  beforeAll(async () => {
    stage = await ConsoleStage.open('send-types');
    ({ id: sandbox } = await stage.customer.client.connectedInstance('Form shop'));
    page = await stage.signIn();
  });
  afterAll(() => stage?.close());

  async function choose(type: string): Promise<void> {
    await show(page, stage.at(`messages/new?number=${sandbox}`));
    await page.getByRole('textbox', { name: 'To', exact: true }).fill('5511987654321');
    await page.getByRole('combobox', { name: 'Type' }).click();
    await page.getByRole('option', { name: type, exact: true }).click();
  }

  /** Sends the form, and waits until the page of the message shows that the sandbox's contact received it. */
  async function submit(type: string): Promise<void> {
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.waitForURL('**/messages/msg_*');
    await page.getByRole('cell', { name: type, exact: true }).waitFor();
    await page.getByText('Read', { exact: true }).first().waitFor();
  }

  const fill = (label: string, text: string) =>
    page.getByRole('textbox', { name: label, exact: true }).fill(text);
  const json = async () => JSON.parse((await page.locator('section pre').first().textContent())!) as object;

  test.each<[string, () => Promise<void>, object]>([
    ['Text', () => fill('Text', 'Hello'), { text: { body: 'Hello' } }],
    ['Location', () => fill('Name', 'Shop'), { location: { name: 'Shop' } }],
    [
      'Contact card',
      () => fill('Phone numbers', '+5511987650000\n+5511987650001'),
      { contact: { phones: ['+5511987650000', '+5511987650001'] } },
    ],
    [
      'Menu',
      () => fill('Buttons', 'Yes\nNo\nLater'),
      { interactive: { buttons: [{ label: 'Yes' }, { label: 'No' }, { label: 'Later' }] } },
    ],
    [
      'Poll',
      () => fill('Options', 'Red\nBlue'),
      { poll: { options: [{ label: 'Red' }, { label: 'Blue' }] } },
    ],
  ])('%s: the form changes the JSON, and the message is read', async (type, change, expected) => {
    await choose(type);
    await change();
    expect(await json()).toMatchObject({ instance_id: sandbox, to: '5511987654321', ...expected });
    await submit(type);
  });

  test.each([
    ['Image', 'photo.jpg'],
    ['Document', 'photo.jpg'],
    ['Sticker', 'sticker.webp'],
    ['Audio', 'voice.mp3'],
    ['Video', 'clip.mp4'],
  ])('%s: a file is uploaded and sent', async (type, file) => {
    await choose(type);
    await page.locator('input[type=file]').setInputFiles(join(FILES, file));
    await page.getByText(/^Uploaded: /).waitFor();
    expect(JSON.stringify(await json())).toContain('"media_id":"med_');
    await submit(type);
  });

  test('an album is written as JSON', async () => {
    const { id: media_id } = await uploadFile(stage.gateway, stage.customer, join(FILES, 'photo.jpg'));
    await choose('Album');
    const album = [1, 2].map(() => ({ image: { media: { media_id } } }));
    await page.getByRole('textbox', { name: 'Content (JSON)' }).fill(JSON.stringify(album, null, 2));
    expect(await json()).toMatchObject({ type: 'album', album });
    await submit('Album');
  });

  test('a round video is chosen in the form', async () => {
    await choose('Video');
    await fill('Caption', '');
    await page.getByRole('switch', { name: 'Round video' }).check({ force: true });
    expect(await json()).toMatchObject({ video: { round: true } });
  });

  test('fields without a place in the form are written as JSON', async () => {
    await choose('Location');
    await page.getByRole('radio', { name: 'JSON' }).focus();
    await page.keyboard.press('Space');
    await page.getByRole('textbox', { name: 'Content (JSON)' }).fill('{"latitude": 1');
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Content (JSON)' }).fill('{"latitude": 1, "longitude": 2}');
    await submit('Location');
  });
});
