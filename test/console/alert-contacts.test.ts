import type { WebhookEndpointOut } from '@gwk/api/resources/webhook';
import { Receiver } from '../support/gateway/receiver.js';
import { until } from '../support/wait.js';
import { startMailServer, type MailServer } from '../support/servers/mail-server.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, show, takePicture } from './stage.js';

describeWithChromium('alert contacts in the console', () => {
  let stage: ConsoleStage;
  let server: MailServer;
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await Receiver.start();
    server = await startMailServer();
    stage = await ConsoleStage.open('alert-contacts', server.settings, server.settings);
  });
  afterAll(async () => {
    await stage?.close();
    await server?.stop();
    await receiver?.stop();
  });

  test('a person adds a contact by keyboard, enters the code of its e-mail, and removes it', async () => {
    const page = await stage.signIn();
    await show(page, stage.at('alert-contacts'));
    await page.getByText('it sends no alerts by WhatsApp').waitFor();
    await page.getByRole('button', { name: 'Add a contact' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Rui');
    await dialog.getByRole('textbox', { name: 'E-mail' }).fill('rui@example.com');
    await page.keyboard.press('Enter');
    // A dialog that closes moves the focus to its button, also away from a field that a test has just filled.
    await dialog.waitFor({ state: 'hidden' });
    await page.getByLabel('Code of Rui').fill('000');
    await page.keyboard.press('Enter');
    await page.getByText('The code is wrong or has been used.').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await takePicture(page, 'alert-contact-code');
    const [mail] = server.mails;
    await page.getByLabel('Code of Rui').fill(/\d{6}/.exec(mail!.text)![0]);
    const row = page.getByRole('row', { name: 'Rui' });
    await row.getByRole('button', { name: 'Verify' }).click();
    await row.getByText('Verified').waitFor();
    await row.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('heading', { name: 'Nobody receives alerts yet' }).waitFor();
  });

  test('a verified contact receives the alert of a disabled webhook, and its end', async () => {
    const page = await stage.signIn();
    await show(page, stage.at('alert-contacts'));
    await page.getByRole('button', { name: 'Add a contact' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Eva');
    await dialog.getByRole('textbox', { name: 'E-mail' }).fill('eva@example.com');
    await dialog.getByRole('button', { name: 'Send the code' }).click();
    await page.getByLabel('Code of Eva').waitFor();
    await page.getByLabel('Code of Eva').fill(/\d{6}/.exec(server.mails.at(-1)!.text)![0]);
    const row = page.getByRole('row', { name: 'Eva' });
    await row.getByRole('button', { name: 'Verify' }).click();
    await row.getByText('Verified').waitFor();
    const received = (text: string) => server.mails.some(({ subject }) => subject.includes(text));
    const { client } = stage.customer;
    // Status 410 disables an endpoint.
    await receiver.setRule('/gone', { failures: 1_000, status: 410 });
    const endpoint = await client.expect<WebhookEndpointOut>(201, 'POST', '/v1/webhook-endpoints', {
      body: { url: receiver.url('/gone') },
    });
    await client.connectedInstance('Test shop');
    await until(() => received('disabled'), { what: 'the alert arrives' });
    await client.expect(200, 'PATCH', `/v1/webhook-endpoints/${endpoint.id}`, { body: { enabled: true } });
    await until(() => received('Resolved'), { what: 'the end of the incident arrives' });
    const alerts = server.mails.filter(({ subject }) => /disabled|Resolved/.test(subject));
    expect(alerts.map(({ to }) => to)).toEqual([['eva@example.com'], ['eva@example.com']]);
  });
});
