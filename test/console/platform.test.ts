import type { Page } from 'playwright-core';
import { BUNDLED } from '@gwk/core/client-version';
import { newUuid } from '@gwk/core/ids/ids';
import { recordResult, storeServed } from '@gwk/api/client-version/store';
import { openDatabase } from '@gwk/api/database/database';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, show, takePicture } from './stage.js';

const ADMIN = 'paula@example.com';
const MANY = 1_000;

describeWithChromium('what administrators of the platform do in the console', () => {
  let stage: ConsoleStage;
  let page: Page;
  beforeAll(async () => {
    stage = await ConsoleStage.open('platform');
    await stage.createPlatformAdmin(ADMIN);
    page = await stage.signIn({}, ADMIN);
  });
  afterAll(() => stage?.close());

  const open = (path: string) => show(page, stage.atPlatform(path));

  test('the overview counts numbers by state and engine version, and lists the programs that run', async () => {
    await stage.customer.client.connectedInstance('Test shop');
    const numbers = page.getByRole('table', { name: 'Numbers by state and engine version' });
    const programs = page.getByRole('table', { name: 'Running programs' });
    for (const program of ['API', 'Worker', 'Operator'])
      await programs.getByRole('cell', { name: program }).first().waitFor();
    const connected = numbers.getByRole('row', { name: /Connected/ }).getByRole('link');
    await connected.click();
    await page.waitForURL('**/platform/numbers?state=connected&version=*');
    await page.getByRole('link', { name: 'Test shop' }).click();
    await page.waitForURL(`**/${stage.customer.account.id}/numbers/ins_*`);
    await page.getByRole('heading', { level: 1, name: 'Test shop' }).waitFor();
  });

  test('an account is created, limited, suspended, resumed and renamed', async () => {
    await open('accounts');
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Loja Norte');
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 1, name: 'Loja Norte' }).waitFor();
    const save = async (form: string) => {
      const section = page.getByRole('form', { name: form, exact: true });
      await section.getByRole('button', { name: 'Save' }).click();
      await section.getByText('Saved.').waitFor();
    };
    await page.getByRole('textbox', { name: 'Numbers, without sandboxes' }).fill('12');
    await save('Limits and use');
    await page.getByText('In effect: 12').waitFor();
    await page.getByRole('combobox', { name: 'Kubernetes namespaces' }).fill('shop');
    await page.keyboard.press('Enter');
    await save('Kubernetes namespaces');
    await page.getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Suspend' }).waitFor();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Loja Sul');
    await save('Name');
    await page.getByRole('heading', { level: 1, name: 'Loja Sul' }).waitFor();
    const [account] = await stage.gateway.gwk<{ name: string }[]>('account', 'list');
    expect(account).toMatchObject({ name: 'Loja Sul', max_instances: 12, namespaces: ['shop'] });
  });

  test('the switcher finds one of 1,000 accounts by its name, and opens its pages', async () => {
    const db = openDatabase({ url: stage.gateway.settings.databaseUrl, poolSize: 1, program: 'test' });
    const rows = Array.from({ length: MANY }, (_, index) => ({ id: newUuid(), name: `Shop ${index + 1}` }));
    await db.account.createMany({ data: rows });
    await db.$disconnect();
    await open('overview');
    const switcher = page.getByRole('combobox', { name: 'Account' });
    await switcher.click();
    expect(await page.getByRole('option').count()).toBeLessThanOrEqual(51);
    await switcher.fill('shop 977');
    await page.getByRole('option', { name: 'Shop 977' }).click();
    await page.waitForURL('**/acc_*/overview');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    // The session does not list this account, so the page finds it by its id.
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    expect(await switcher.inputValue()).toBe('Shop 977');
    await page.getByRole('link', { name: 'Platform' }).click();
    await page.getByRole('link', { name: /^1\d{3} accounts$/ }).waitFor();
  });

  test('a recorded device check is shown to all, its author to administrators', async () => {
    await show(page, stage.at('formats'));
    await page.getByRole('button', { name: 'Record a check: legacy_list, iPhone' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('App version').fill('2.26.41');
    await dialog.getByLabel('Note').fill('The list opens late.');
    expect(await findViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    // The field of the dialog contains the same words until the dialog closes.
    await dialog.waitFor({ state: 'hidden' });
    await page.getByText('The list opens late.').waitFor();
    await page.getByText(`by ${ADMIN}`).waitFor();
    const member = await stage.signIn();
    await show(member, stage.at('formats'));
    await member.getByText('version 2.26.41').waitFor();
    expect(await member.getByRole('button', { name: /Record a check/ }).count()).toBe(0);
    expect(await member.getByText(ADMIN).count()).toBe(0);
  });

  test('the client version is pinned and unpinned, and the reason of a refusal is shown', async () => {
    const [refused, pinned] = ['2.3000.1044142122', '2.3000.1044142123'];
    const db = openDatabase({ url: stage.gateway.settings.databaseUrl, poolSize: 1, program: 'test' });
    await storeServed(db, { version: refused, from: 'https://web.whatsapp.com/sw.js', pauseMs: 0 });
    await db.clientVersionState.updateMany({ data: { triedAt: new Date(), fault: 'redirected_elsewhere' } });
    await recordResult(db, BUNDLED.version, 'accepted');
    await recordResult(db, refused, 'refused');
    await db.$disconnect();
    await open('overview');
    const section = page.getByRole('region', { name: 'Client version' });
    await section.getByText(`The network refuses ${refused}`).waitFor();
    await section.getByText(`Engines connect with ${BUNDLED.version}`).waitFor();
    await section.getByText('A proxy or a sign-in page may be in between.').waitFor();
    await section
      .getByRole('row', { name: /Bundled/ })
      .getByText('days behind')
      .waitFor();
    await section.getByRole('row', { name: `${BUNDLED.version} accepted` }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    await takePicture(page, 'client-version');

    const field = section.getByRole('combobox', { name: 'Pin a version for engines with auto or bundled' });
    await field.fill('2.3000.1');
    await section.getByRole('button', { name: 'Pin', exact: true }).click();
    await section.getByText('must be a version such as 2.3000.1044142122').waitFor();
    await field.fill(` ${pinned} `);
    await section.getByRole('button', { name: 'Pin', exact: true }).click();
    await section.getByText('Saved.').waitFor();
    await section.getByRole('row', { name: `Pinned ${pinned} by ${ADMIN}` }).waitFor();
    expect(await section.getByText(`The network refuses ${refused}`).count()).toBe(0);
    await section.getByRole('button', { name: 'Unpin' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unpin' }).click();
    await section.getByText('None: each engine uses its setting.').waitFor();
  });

  test('an owner of an account finds no page of the platform', async () => {
    const member = await stage.signIn();
    await member.goto(stage.atPlatform('accounts'));
    await member.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    expect(await member.getByRole('link', { name: 'Platform' }).count()).toBe(0);
  });

  test('no page violated its Content-Security-Policy or threw', () => {
    expect(stage.faults).toEqual([]);
  });
});
