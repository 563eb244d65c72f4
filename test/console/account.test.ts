import { readFile } from 'node:fs/promises';
import { until } from '../support/wait.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, show } from './stage.js';

describeWithChromium('the account in the console', () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await ConsoleStage.open('account');
  });
  afterAll(() => stage?.close());

  test('a limit of the account holds for its numbers, and is in the audit log and its export', async () => {
    const number = await stage.customer.client.connectedInstance('Test shop');
    const page = await stage.signIn();
    await show(page, stage.at('account'));
    await page.getByRole('link', { name: 'Limits of all numbers' }).click();
    const section = page.getByRole('region', { name: 'Typed replies to menus (hours)' });
    await section.getByText('from the gateway').waitFor();
    await section.getByRole('switch', { name: 'Own value for this account' }).press('Space');
    await section.getByRole('textbox').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await section.getByText('from the account').waitFor();
    await show(page, stage.at(`numbers/${number.id}?tab=policy`));
    const onNumber = page.getByRole('region', { name: 'Typed replies to menus (hours)' });
    await onNumber.getByText('from the account').waitFor();
    expect(await onNumber.getByRole('textbox').inputValue()).toBe('7');

    await show(page, stage.at('audit-log'));
    await page.getByLabel('Operation').fill('policy.set');
    await page.getByText('"menu_ttl_hours":7').waitFor();
    const rows = page.getByRole('row');
    await until(async () => (await rows.count()) === 2, { what: 'the filtered list shows one entry' });
    expect(new URL(page.url()).searchParams.get('action')).toBe('policy.set');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export as CSV' }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
    expect([lines[0], lines.length]).toEqual(['at,actor,actor_name,action,subject,detail', 2]);
    expect(lines[1]).toContain('"ana@example.com","policy.set"');
  });

  test('an agent sees the limits without a form, and no audit log', async () => {
    await stage.createUser('leo@example.com', 'agent');
    const page = await stage.signIn({}, 'leo@example.com');
    expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0);
    await show(page, stage.at('account/policy'));
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
  });
});
