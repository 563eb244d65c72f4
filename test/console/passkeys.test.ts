import type { Page } from 'playwright-core';
import { addAuthenticator, describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, takePicture } from './stage.js';

describeWithChromium('passkeys in the console', () => {
  let stage: ConsoleStage;
  let page: Page;
  let password: string;
  /** Browsers allow passkeys at a host name only. */
  const at = (path: string) => path.replace('127.0.0.1', 'localhost');

  beforeAll(async () => {
    stage = await ConsoleStage.open('passkeys');
    await stage.createUser('lia@example.com', 'admin');
    ({ password } = await stage.gateway.gwk<{ password: string }>('user', 'reset', 'lia@example.com'));
    page = await stage.newPage();
    await addAuthenticator(page);
  });
  afterAll(() => stage?.close());

  const enterPassword = async () => {
    await page.getByRole('textbox', { name: 'E-mail' }).fill('lia@example.com');
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await page.keyboard.press('Enter');
  };
  const signOut = async () => {
    await page.getByRole('button', { name: 'Your user' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  };
  const profile = () => page.getByRole('heading', { level: 1, name: 'Profile' });

  test('the profile at an address offers the host name, where a passkey can be added', async () => {
    await page.goto(stage.at('profile'));
    await enterPassword();
    await page.getByRole('link', { name: /^localhost:/ }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await enterPassword();
    await profile().waitFor();
    await page.getByLabel('Name of the passkey').fill('Notebook');
    await page.getByRole('textbox', { name: 'Current password' }).last().fill(password);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('row', { name: /Notebook/ }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    await takePicture(page, 'passkeys');
  });

  test('a passkey signs in without a password, at the page that was asked for', async () => {
    await signOut();
    await page.goto(at(stage.at('profile')));
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await profile().waitFor();
    await page
      .getByRole('row', { name: /Notebook/ })
      .getByText('never')
      .waitFor({ state: 'detached' });
  });

  test('after the password the passkey replaces the code', async () => {
    await signOut();
    await page.goto(at(stage.at('profile')));
    await enterPassword();
    await page.getByRole('heading', { level: 1, name: 'Second factor' }).waitFor();
    expect(await page.getByLabel('Code').count()).toBe(0);
    expect(await findViolations(page)).toEqual([]);
    await takePicture(page, 'second-factor-passkey');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await profile().waitFor();
  });

  test('a removed passkey signs in no longer, and the page says so', async () => {
    await page
      .getByRole('row', { name: /Notebook/ })
      .getByRole('button', { name: 'Remove' })
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'Current password' }).fill(password);
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No passkey yet.').waitFor();
    await signOut();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('alert').getByText('Request id').waitFor();
    await enterPassword();
    await profile().waitFor();
  });

  test('no page violated its Content-Security-Policy or threw', () => {
    expect(stage.faults).toEqual([]);
  });
});
