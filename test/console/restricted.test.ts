import { describeWithChromium } from './chromium.js';
import { ConsoleStage, show } from './stage.js';

describeWithChromium('the console of a restricted member', () => {
  let stage: ConsoleStage;
  let sandbox: string;

  beforeAll(async () => {
    stage = await ConsoleStage.open('restricted');
    const { client } = stage.customer;
    ({ id: sandbox } = await client.connectedInstance('Role shop'));
    await client.connectedInstance('Other shop');
  });
  afterAll(() => stage?.close());

  test('a restricted administrator creates an endpoint for the own numbers only', async () => {
    await stage.createUser('ines@example.com', 'admin');
    await stage.changeMember('ines@example.com', { instance_ids: [sandbox] });
    const page = await stage.signIn({}, 'ines@example.com');
    await show(page, stage.at('webhooks/new'));
    await page.getByRole('textbox', { name: 'Address' }).fill('https://example.com/own');
    const create = page.getByRole('button', { name: 'Create' });
    expect(await create.isDisabled()).toBe(true);
    await page.getByRole('combobox', { name: 'Numbers' }).click();
    await page.getByRole('option', { name: 'Role shop' }).waitFor();
    expect(await page.getByRole('option').allTextContents()).toEqual(['Role shop']);
    await page.getByRole('option', { name: 'Role shop' }).click();
    await create.click();
    await page.getByRole('heading', { level: 1, name: 'The endpoint is ready' }).waitFor();
    await show(page, stage.at('team'));
    // The owner has all numbers.
    const owner = page.getByRole('row', { name: /ana@example\.com/ });
    await owner.waitFor();
    expect(await owner.getByRole('button').count()).toBe(0);
  });
});
