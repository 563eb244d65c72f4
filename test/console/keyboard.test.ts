import type { Page } from 'playwright-core';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage } from './stage.js';

const MAX_STEPS = 80;
/** Text or name of the focused element. */
const FOCUSED = `(() => {
  const { activeElement: element } = document;
  const label = element.labels?.[0]?.textContent ?? element.getAttribute('aria-label') ?? element.textContent;
  return (label ?? '').replace('*', '').trim();
})()`;

/** Moves the focus with Tab only. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let step = 0; step < MAX_STEPS; step++) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate<string>(FOCUSED)) === name) return;
  }
  throw new Error(`no Tab leads to ${name}`);
}

describeWithChromium('the console without a mouse', () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await ConsoleStage.open('keyboard');
  });
  afterAll(() => stage?.close());

  test('a sandbox is created and sends a message, with the keyboard alone', async () => {
    const page = await stage.signIn();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await tabTo(page, 'Numbers');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'New number' }).first().waitFor();
    await tabTo(page, 'New number');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).waitFor();
    // The dialog moves the focus to its first field.
    await page.keyboard.type('Keyboard shop');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    expect(await page.getByRole('radio', { name: 'Sandbox' }).isChecked()).toBe(true);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Keyboard shop' }).waitFor();
    await page.getByText('Connected').first().waitFor();
    await tabTo(page, 'Health');
    for (const tab of ['Availability', 'Limits', 'Try it']) {
      await page.keyboard.press('ArrowRight');
      await page.getByRole('tab', { name: tab, selected: true }).waitFor();
    }
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    await tabTo(page, 'To (with country and area code)');
    await page.keyboard.type('5511987654321');
    await tabTo(page, 'Text');
    await page.keyboard.type('Bom dia');
    await tabTo(page, 'Send');
    await page.keyboard.press('Enter');
    await page.getByText(/msg_/).first().waitFor();
  });
});
