import type { Page } from 'playwright-core';
import { Authenticator } from '../support/api/authenticator.js';
import { startMailServer, type MailServer } from '../support/servers/mail-server.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, takePictures } from './stage.js';

const EMAIL = 'rui@example.com';
/** A provider of OpenID Connect that nobody visits. */
const PROVIDER = {
  GWK_API_OIDC_ISSUER: 'https://login.example.com',
  GWK_API_OIDC_CLIENT_ID: 'gwk',
  GWK_API_OIDC_DOMAINS: 'example.com',
  GWK_API_OIDC_NAME: 'Acme',
};

describeWithChromium('the pages without a session', () => {
  let server: MailServer;
  let stage: ConsoleStage;
  let password: string;

  beforeAll(async () => {
    server = await startMailServer();
    stage = await ConsoleStage.open('entry', { ...server.settings, ...PROVIDER });
    await stage.createUser(EMAIL, 'admin');
    ({ password } = await stage.gateway.gwk<{ password: string }>('user', 'reset', EMAIL));
    await setUpTotp(await stage.signIn({}, EMAIL), password);
  });
  afterAll(async () => {
    await stage?.close();
    await server?.stop();
  });

  const open = (page: Page, path: string) => page.goto(`${stage.gateway.urls[0]!}/console/${path}`);

  async function openCode(page: Page): Promise<void> {
    await open(page, '');
    await page.locator('input[name=email]').fill(EMAIL);
    await page.locator('input[name=password]').fill(password);
    await page.keyboard.press('Enter');
    await page.locator('input[autocomplete=one-time-code]').waitFor();
  }

  /** Opens a page and waits for its last part. */
  const PAGES: Record<string, (page: Page) => Promise<unknown>> = {
    'sign-in-provider': async (page) => {
      await open(page, '');
      await page.getByRole('button', { name: /Acme/ }).waitFor();
      await page.locator('a[href$="forgot-password"]').waitFor();
    },
    code: openCode,
    'forgot-password': (page) => open(page, 'forgot-password'),
    'password-reset': (page) => open(page, 'password-reset#token=unknown'),
    invitation: (page) => open(page, 'invitation#token=unknown'),
    handoff: async (page) => {
      await open(page, 'handoff#token=unknown');
      await page.getByRole('alert').waitFor();
    },
    oidc: async (page) => {
      await open(page, 'oidc?code=unknown&state=unknown');
      await page.getByRole('alert').waitFor();
    },
  };

  test.each(Object.keys(PAGES).flatMap((name) => [[name, 'en-US'] as const, [name, 'pt-BR'] as const]))(
    '%s in %s: fits a phone and a desktop, and axe finds no serious violation in light and dark',
    async (name, locale) => {
      const page = await stage.newPage({ locale });
      await PAGES[name]!(page);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await takePictures(page, locale === 'en-US' ? name : `${name}-pt`);
      await page.context().close();
    },
  );

  test('no page violated its Content-Security-Policy or threw', () => {
    expect(stage.faults).toEqual([]);
  });
});

async function setUpTotp(page: Page, password: string): Promise<void> {
  await page.getByRole('button', { name: 'Your user' }).click();
  await page.getByRole('menuitem', { name: 'Profile' }).click();
  await page.getByLabel('Password for the second factor').fill(password);
  await page.getByRole('button', { name: 'Set up the second factor' }).click();
  const secret = await page.locator('form code').textContent();
  await page.getByRole('textbox', { name: 'Code' }).fill(new Authenticator(secret!).code());
  await page.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('The second factor is active').first().waitFor();
  await page.context().close();
}
