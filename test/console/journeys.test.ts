import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import type { Locator } from 'playwright-core';
import { Authenticator } from '../support/api/authenticator.js';
import { baseEnvironment, ROOT } from '../support/program.js';
import { until } from '../support/wait.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, show, takePicture, takePictures } from './stage.js';

/** jsQR is a CommonJS module whose types name a default export. */
const decode = jsQR as unknown as typeof jsQR.default;

describeWithChromium('what people do in the console', () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await ConsoleStage.open('journeys');
  });
  afterAll(() => stage?.close());

  test('a hand-off link signs in once, and the second use says why not', async () => {
    const link = await stage.handoff();
    const page = await stage.newPage();
    await page.goto(link);
    await page.waitForURL(stage.at('overview'));
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const second = await stage.newPage();
    await second.goto(link);
    await second.getByRole('alert').waitFor();
    expect(await second.getByRole('alert').textContent()).toContain('Request id');
    // The token does not stay in the history of the browser.
    expect(new URL(second.url()).hash).toBe('');
    await second.getByRole('link', { name: 'Go to the sign-in' }).click();
    await second.getByLabel('E-mail').waitFor();
    expect(await findViolations(second)).toEqual([]);
    await takePicture(second, 'sign-in');
  });

  test('a password signs in, a wrong one does not, and signing out ends the session', async () => {
    await stage.createUser('rui@example.com', 'admin');
    const { password } = await stage.gateway.gwk<{ password: string }>('user', 'reset', 'rui@example.com');
    const page = await stage.newPage();
    const enter = async (text: string) => {
      await page.getByRole('textbox', { name: 'E-mail' }).fill('rui@example.com');
      await page.getByRole('textbox', { name: 'Password' }).fill(text);
      await page.keyboard.press('Enter');
    };
    await page.goto(stage.at('messages'));
    await enter('wrong horse battery');
    await page.getByText('Check e-mail and password.').waitFor();
    await enter(password);
    // The address that was asked for opens, not the start page.
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    await page.getByRole('button', { name: 'Your user' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  });

  test('a phone that scans the QR code of the page is linked, and the overview asks for it after an unlink', async () => {
    const phone = await stage.network.phone('5511955550001', { name: 'Shop' });
    const page = await stage.signIn();
    await page.getByRole('link', { name: 'Numbers', exact: true }).click();
    await page.getByRole('button', { name: 'New number' }).click();
    // While the list loads, the page has another field of that name.
    await page.getByRole('dialog').getByLabel('Name').fill('Main shop');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const picture = page.getByAltText('QR code to scan with the phone');
    await picture.waitFor();
    await phone.scan(await readQr(picture));
    await page.getByRole('heading', { name: 'The phone is linked' }).waitFor();
    await page.getByRole('link', { name: 'Open the number' }).click();
    await page.getByText('Connected').first().waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByRole('heading', { level: 2, name: 'All is well' }).waitFor();
    await phone.unlinks();
    await page.getByRole('link', { name: 'Main shop' }).click();
    await page.waitForURL('**/numbers/*/pairing');
  });

  test('the form sends a message, whose page shows that it was read', async () => {
    const { client } = stage.customer;
    const sandbox = await client.connectedInstance('Sandbox');
    const page = await stage.signIn();
    await show(page, stage.at(`messages/new?number=${sandbox.id}`));
    await page.getByRole('textbox', { name: 'To' }).fill('55 11 98765-4321');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.waitForURL('**/messages/msg_*');
    await page.getByText('Read', { exact: true }).first().waitFor();
  });

  test('a key works from its creation until it is revoked', async () => {
    const page = await stage.signIn();
    await show(page, stage.at('keys'));
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name').fill('shop backend');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const key = (await page.getByText(/^gwk_live_/).textContent())!;
    const read = () =>
      fetch(`${stage.gateway.urls[0]!}/v1/instances`, { headers: { authorization: `Bearer ${key}` } });
    expect((await read()).status).toBe(200);
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
    const row = page.getByRole('row', { name: /shop backend/ });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.getByText('Revoked').waitFor();
    await until(async () => (await read()).status === 401, { what: 'the key is refused' });
  });

  test('gwk login gets the key that its person approves on the page', async () => {
    const page = await stage.signIn();
    const home = mkdtempSync(join(tmpdir(), 'gwk-login-'));
    const env = { ...baseEnvironment(), HOME: home, XDG_CONFIG_HOME: home };
    const program = [join(ROOT, 'cli/dist/gwk.cjs'), 'login', stage.gateway.urls[0]!, '--no-browser'];
    const login = spawn(process.execPath, program, { env });
    try {
      const ended = once(login, 'close');
      let lines = '';
      login.stderr.on('data', (chunk: Buffer) => (lines += String(chunk)));
      const code = await until(() => /must show the code (\S+)\./.exec(lines)?.[1], {
        what: 'the code is printed',
      });
      const address = /http\S+approve-key#\S+/.exec(lines)![0];
      await page.goto(address.replace('challenge=', 'challenge=x'));
      await page.getByText('This address is not complete').waitFor();
      await page.goto('about:blank');
      await page.goto(address);
      await page.getByText(code, { exact: true }).waitFor();
      await page.getByText(`“gwk on ${hostname()}”`).waitFor();
      expect(await page.getByRole('checkbox', { name: 'webhooks:write' }).isChecked()).toBe(false);
      await page.getByRole('checkbox', { name: 'messages:send' }).uncheck();
      await takePictures(page, 'approve-key');
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByText('You can close this page').waitFor();
      expect(await ended).toEqual([0, null]);
    } finally {
      login.kill('SIGKILL');
      rmSync(home, { recursive: true });
    }
    await show(page, stage.at('keys'));
    const row = page.getByRole('row', { name: /gwk on/ });
    await row.getByText('Active').waitFor();
    expect(await row.textContent()).not.toContain('messages:send');
    expect(stage.faults).toEqual([]);
  });

  test('the overview counts messages in a table, for screen readers also beside the chart', async () => {
    const page = await stage.signIn();
    const { client } = stage.customer;
    const instance = await client.connectedInstance('Counted shop');
    await client.expect(200, 'POST', `/v1/instances/${instance.id}/sandbox/inbound`, {
      body: { from: '5511912345678', text: 'Bom dia' },
    });
    // The chart is shown, the table is for screen readers.
    await page.locator('.recharts-wrapper').waitFor();
    const table = page.getByRole('table', { name: 'Messages: 24 hours' });
    const received = table.locator('td:nth-of-type(2)').filter({ hasText: /^[1-9]/ });
    await received.first().waitFor();
    await page.getByRole('radio', { name: 'Chart' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.locator('.recharts-wrapper').waitFor({ state: 'detached' });
    await page.getByRole('radio', { name: '24 hours' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('table', { name: 'Messages: 30 days' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
  });

  test('an administrator with a second factor requires it of all members, and undoes it', async () => {
    await stage.createUser('mia@example.com', 'admin');
    const page = await stage.signIn({}, 'mia@example.com');
    await page.getByRole('link', { name: 'Account', exact: true }).click();
    await page.getByRole('link', { name: 'Set up your own second factor first' }).click();
    await page.getByRole('button', { name: 'Set up the second factor' }).click();
    const secret = await page.locator('form code').textContent();
    await page.getByRole('textbox', { name: 'Code' }).fill(new Authenticator(secret!).code());
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('The second factor is active').first().waitFor();
    await page.getByRole('link', { name: 'Account', exact: true }).click();
    const required = page.getByRole('switch', { name: 'Require a second factor of all members' });
    await required.press('Space');
    await page.getByText('Saved.').waitFor();
    expect(await required.isChecked()).toBe(true);
    await required.press('Space');
    await until(async () => !(await required.isChecked()), { what: 'the account no longer requires it' });
  });

  test('a viewer is offered nothing that would be refused', async () => {
    await stage.createUser('eva@example.com', 'viewer');
    const page = await stage.signIn({}, 'eva@example.com');
    await show(page, stage.at('numbers'));
    expect(await page.getByRole('button', { name: 'New number' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'API keys' }).count()).toBe(0);
    await show(page, stage.at('messages'));
    expect(await page.getByRole('link', { name: 'Send a message' }).count()).toBe(0);
  });
});

async function readQr(picture: Locator): Promise<string> {
  return until(
    async () => {
      const { data, width, height } = PNG.sync.read(await picture.screenshot());
      return decode(new Uint8ClampedArray(data), width, height)?.data;
    },
    { what: 'the QR code is readable' },
  );
}
