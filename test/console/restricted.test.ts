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

  async function restrict(email: string): Promise<void> {
    const owner = await stage.signIn();
    const account = stage.customer.account.id;
    await owner.evaluate(
      async ({ account: id, email: wanted, instances }) => {
        const headers = { 'X-Gwk-Account': id, 'Content-Type': 'application/json' };
        const read = async (path: string) => (await fetch(path, { headers })).json();
        const { csrf_token } = (await read('/console/api/session')) as { csrf_token: string };
        const { data } = (await read('/console/api/members')) as {
          data: { user_id: string; email: string }[];
        };
        const { user_id } = data.find((member) => member.email === wanted)!;
        const answer = await fetch(`/console/api/members/${user_id}`, {
          method: 'PATCH',
          headers: { ...headers, 'X-CSRF-Token': csrf_token },
          body: JSON.stringify({ instance_ids: instances }),
        });
        if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
      },
      { account, email, instances: [sandbox] },
    );
    await owner.context().close();
  }

  test('a restricted administrator creates an endpoint for the own numbers only', async () => {
    await stage.createUser('ines@example.com', 'admin');
    await restrict('ines@example.com');
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
