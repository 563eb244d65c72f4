import type { Page } from 'playwright-core';
import { newCustomer } from '../support/gateway/customer.js';
import { TestOidcProvider, type ProvidedClaims } from '../support/servers/oidc-provider.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, takePictures } from './stage.js';

const ACCOUNT = 'provided';
const ROLES = {
  staff: [{ account: ACCOUNT, role: 'agent' }],
  leads: [{ account: ACCOUNT, role: 'admin' }],
};

const CLAIM = { GWK_API_OIDC_CLAIM: 'groups', GWK_API_OIDC_ROLES: JSON.stringify(ROLES) };

/** A stage whose sign-in page has a real provider of OpenID Connect. */
async function openStage(settings: Record<string, string>) {
  const provider = await TestOidcProvider.start([]);
  const stage = await ConsoleStage.open(ACCOUNT, {
    ...provider.settings,
    GWK_API_OIDC_NAME: 'Acme',
    ...settings,
  });
  await provider.register([`${stage.gateway.urls[0]!}/console/oidc`]);
  const close = async () => {
    await stage.close();
    await provider.stop();
  };
  return { stage, provider, close };
}

const newPerson = (sub: string, claims: Record<string, unknown> = {}): ProvidedClaims => ({
  sub,
  email: `${sub}@example.org`,
  email_verified: true,
  name: 'Bia Lima',
  groups: ['staff'],
  ...claims,
});

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
const signIn = (page: Page) => page.getByRole('button', { name: 'Sign in with Acme' }).click();
const enterPassword = async (page: Page, email: string, password: string) => {
  await page.getByRole('textbox', { name: 'E-mail' }).fill(email);
  await page.getByRole('textbox', { name: 'Password' }).fill(password);
  await page.keyboard.press('Enter');
};

describeWithChromium('sign-in with a provider in the console', () => {
  let stage: ConsoleStage;
  let provider: TestOidcProvider;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ stage, provider, close } = await openStage(CLAIM));
  });
  afterAll(() => close?.());

  test('the first sign-in opens the page that was asked for, with the role of the claim', async () => {
    provider.person = newPerson('bia');
    const page = await stage.newPage();
    await page.goto(stage.at('numbers'));
    await page.getByRole('textbox', { name: 'E-mail' }).waitFor();
    await signIn(page);
    await page.waitForURL(stage.at('numbers'));
    await heading(page, 'Numbers');
    expect(await page.getByRole('button', { name: 'New number' }).count()).toBe(0);
    expect(await page.getByRole('link', { name: 'Team' }).count()).toBe(0);
  });

  test('another group at the provider gives another role at the next sign-in', async () => {
    provider.person = newPerson('bia', { groups: ['leads'] });
    const page = await stage.newPage();
    await page.goto(stage.at('team'));
    await signIn(page);
    await page.getByRole('row', { name: /bia@example\.org/ }).waitFor();
    await page.getByRole('button', { name: 'Invite a person' }).waitFor();
  });

  test.each<[string, ProvidedClaims | null, string]>([
    ['of another domain', newPerson('eve', { email: 'eve@evil.example' }), 'Ask one of its owners'],
    ['whose groups give no role', newPerson('max', { groups: ['others'] }), 'Ask one of its owners'],
    ['who cancels at the provider', null, ': start it again.'],
  ])('a person %s reads why, and returns to the sign-in', async (_, person, advice) => {
    provider.person = person;
    const page = await stage.newPage();
    await page.goto(stage.at('overview'));
    await signIn(page);
    await page.getByRole('alert').getByText(advice).waitFor();
    // Code and state do not stay in the history of the browser.
    expect(page.url()).toBe(`${stage.gateway.urls[0]!}/console/oidc`);
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Back to the sign-in' }).click();
    await page.getByRole('textbox', { name: 'E-mail' }).waitFor();
  });

  test('a known user is linked: accounts stay, the password ends', async () => {
    const email = 'lia@example.org';
    // The claim names no role in this account.
    const other = await newCustomer(stage.gateway, 'other');
    other.close();
    const member = ['--name', 'Lia Reis', '--account', 'other', '--role', 'developer'];
    await stage.gateway.gwk('user', 'create', email, ...member);
    const { password } = await stage.gateway.gwk<{ password: string }>('user', 'reset', email);
    provider.person = newPerson('lia', { groups: [] });
    const page = await stage.newPage();
    await page.goto(`${stage.gateway.urls[0]!}/console/${other.account.id}/profile`);
    await signIn(page);
    await heading(page, 'Profile');
    await page.getByRole('link', { name: 'API keys' }).waitFor();
    const next = await stage.newPage();
    await next.goto(stage.at('overview'));
    await enterPassword(next, email, password);
    await next.getByText('Check e-mail and password.').waitFor();
  });

  test('no page violated its Content-Security-Policy or threw', () => {
    expect(stage.faults).toEqual([]);
  });
});

describeWithChromium('the console with passwords turned off', () => {
  let stage: ConsoleStage;
  let provider: TestOidcProvider;
  let close: () => Promise<void>;
  beforeAll(async () => {
    ({ stage, provider, close } = await openStage({ GWK_API_OIDC_PASSWORDS: 'off' }));
  });
  afterAll(() => close?.());

  test('the sign-in has only the provider, which the keyboard reaches', async () => {
    await stage.createUser('bia@example.org', 'agent');
    provider.person = newPerson('bia');
    const page = await stage.newPage();
    await page.goto(stage.at('profile'));
    await page.getByRole('button', { name: 'Sign in with Acme' }).waitFor();
    const buttons = page.locator('main').getByRole('button');
    expect(await buttons.allTextContents()).toEqual(['', '', 'Sign in with Acme']);
    expect(await page.locator('main input').count()).toBe(0);
    expect(await findViolations(page)).toEqual([]);
    await takePictures(page, 'sign-in-provider-only');
    await page.getByRole('button', { name: 'Language' }).focus();
    for (let step = 0; step < 2; step++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await heading(page, 'Profile');
    // A password would be refused.
    expect(await page.getByRole('heading', { name: 'Password' }).count()).toBe(0);
  });

  test('an invitation leads to the provider, whose sign-in accepts it', async () => {
    const owner = await stage.signIn();
    await owner.getByRole('link', { name: 'Team' }).click();
    await owner.getByRole('button', { name: 'Invite a person' }).click();
    const dialog = owner.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'E-mail' }).fill('lia@example.org');
    await dialog.getByRole('button', { name: 'Invite' }).click();
    const link = (await dialog.getByText(/invitation#token=/).textContent())!;
    const { hash } = new URL(link);
    const invitation = `${stage.gateway.urls[0]!}/console/invitation${hash}`;
    provider.person = newPerson('lia');
    const page = await stage.newPage();
    await page.goto(invitation);
    await heading(page, 'Invitation');
    await takePictures(page, 'invitation-provider');
    await signIn(page);
    await page.waitForURL(stage.at('overview'));
  });

  test('no page violated its Content-Security-Policy or threw', () => {
    expect(stage.faults).toEqual([]);
  });
});
