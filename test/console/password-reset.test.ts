import type { Page } from 'playwright-core';
import { startMailServer, type MailServer } from '../support/servers/mail-server.js';
import { until } from '../support/wait.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, takePicture } from './stage.js';

const EMAIL = 'eva@example.com';
const PASSWORD = 'nine green turtles';
const PHONE = { width: 390, height: 800 };

describeWithChromium('forgotten passwords', () => {
  let server: MailServer;
  let stage: ConsoleStage;

  beforeAll(async () => {
    server = await startMailServer();
    stage = await ConsoleStage.open('forgotten', server.settings);
    await stage.createUser(EMAIL, 'viewer');
  });
  afterAll(async () => {
    await stage?.close();
    await server?.stop();
  });

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();

  test('the sign-in leads to an e-mail, whose link sets the password', async () => {
    const page = await stage.newPage({ viewport: PHONE });
    await page.goto(`${stage.gateway.urls[0]!}/console`);
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await heading(page, 'Forgot your password?');
    expect(await findViolations(page)).toEqual([]);
    await takePicture(page, 'forgot-password');
    await page.getByRole('textbox', { name: 'E-mail' }).fill(EMAIL);
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText(`If ${EMAIL} belongs to a user`).waitFor();
    const mail = await until(() => server.mails[0], { what: 'the mail arrives' });
    const [, hash] = /password-reset(#token=\S+)/.exec(mail.text)!;
    await page.goto(`${stage.gateway.urls[0]!}/console/password-reset${hash}`);
    await heading(page, 'New password');
    expect(page.url()).not.toContain('token');
    expect(await findViolations(page)).toEqual([]);
    await takePicture(page, 'password-reset');
    await page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('The password is set').waitFor();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByRole('textbox', { name: 'E-mail' }).fill(EMAIL);
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/overview');
  });

  test('a used link leads to another one', async () => {
    const page = await stage.newPage({ locale: 'pt-BR' });
    await page.goto(`${stage.gateway.urls[0]!}/console/password-reset#token=used`);
    await page.getByRole('textbox', { name: 'Nova senha' }).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Pedir outro link' }).click();
    await heading(page, 'Esqueceu sua senha?');
  });

  test('no page violated its Content-Security-Policy or threw', () => {
    expect(stage.faults).toEqual([]);
  });
});
