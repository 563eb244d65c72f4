import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WebhookEndpointOut } from '@gwk/api/resources/webhook';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, show } from './stage.js';

describeWithChromium('webhooks in the console', () => {
  let stage: ConsoleStage;
  let receiver: Server;
  /** The status that the receiver answers. */
  let status = 410;
  let endpoint: WebhookEndpointOut;

  beforeAll(async () => {
    receiver = createServer((req, res) => {
      req.resume();
      res.writeHead(status).end(`<script>answer ${status}</script>`);
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    stage = await ConsoleStage.open('webhooks');
    const { port } = receiver.address() as AddressInfo;
    endpoint = await stage.customer.client.expect<WebhookEndpointOut>(201, 'POST', '/v1/webhook-endpoints', {
      body: {
        url: `http://127.0.0.1:${port}/hook`,
        headers: { 'X-Shop-Token': 'not to be shown' },
        event_types: ['message.sent'],
      },
    });
  });
  afterAll(async () => {
    await stage?.close();
    receiver?.close();
  });

  test('a failed delivery shows its request and answer, and succeeds when it is retried', async () => {
    const { client } = stage.customer;
    const sandbox = await client.connectedInstance('Webhook shop');
    const message = await client.acceptedText(sandbox.id, '5511987654321', 'Bom dia');
    const page = await stage.signIn();
    await show(page, stage.at(`messages/${message.id}`));
    const table = page.getByRole('table', { name: 'Webhook deliveries' });
    await table.getByText('Failed').waitFor();
    await table.getByText('message.sent').click();
    await page.getByRole('heading', { level: 1, name: 'Delivery' }).waitFor();
    await page.getByText('<script>answer 410</script>').waitFor();
    const headers = page.locator('section').filter({ hasText: 'Request headers' });
    const shown = (await headers.textContent())!;
    expect(shown).toContain('webhook-signature: ••••••');
    expect(shown).toContain('x-shop-token: ••••••');
    expect(await page.content()).not.toContain('not to be shown');
    expect(await findViolations(page)).toEqual([]);
    status = 200;
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('Delivered', { exact: true }).waitFor();
    await page.getByText('<script>answer 200</script>').waitFor();
  });

  test('the list shows the success rate of an endpoint and its last error', async () => {
    const page = await stage.signIn();
    await show(page, stage.at('webhooks'));
    const row = page.getByRole('row', { name: endpoint.url });
    await row.getByRole('cell', { name: /^answered 410/ }).waitFor();
    await row.getByText('100%').waitFor();
    expect(await findViolations(page)).toEqual([]);
  });

  test('all that failed in a period is sent again', async () => {
    const { client } = stage.customer;
    const page = await stage.signIn();
    await show(page, stage.at(`webhooks/${endpoint.id}`));
    const resume = async () => {
      await page.getByRole('button', { name: 'Resume' }).click();
      await page.getByText('Active', { exact: true }).first().waitFor();
    };
    await resume();
    status = 410;
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.getByText('Disabled: answered 410').first().waitFor();
    const row = page.getByRole('row', { name: /webhook\.test/ });
    await row.getByText('Failed').waitFor();
    status = 200;
    await resume();
    await page.getByRole('button', { name: 'Retry all failed' }).click();
    await page.getByText('One delivery is sent again.').waitFor();
    await row.getByText('Delivered').waitFor();
    expect((await client.deliveries(endpoint.id)).every(({ status: is }) => is === 'succeeded')).toBe(true);
  });

  test('nothing that a receiver answered ran in the page', () => {
    expect(stage.faults).toEqual([]);
  });
});
