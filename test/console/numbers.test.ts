import { until } from '../support/wait.js';
import { describeWithChromium } from './chromium.js';
import { ConsoleStage, findViolations, show } from './stage.js';

describeWithChromium('numbers in the console', () => {
  let stage: ConsoleStage;
  beforeAll(async () => {
    stage = await ConsoleStage.open('numbers', { GWK_API_PAIRING_PASSKEYS: 'on' });
  });
  afterAll(() => stage?.close());

  test('a code that is typed on the phone links it', async () => {
    const phone = await stage.network.phone('5511955550009', { name: 'Typed' });
    const { client } = stage.customer;
    const { id } = await client.expect<{ id: string }>(201, 'POST', '/v1/instances', {
      body: { name: 'Typed shop', kind: 'web' },
    });
    const page = await stage.signIn();
    await show(page, stage.at(`numbers/${id}/pairing`));
    await page.getByText('Typed code', { exact: true }).click();
    await page.getByRole('textbox', { name: 'Number of the phone' }).fill('5511955550009');
    await page.getByRole('button', { name: 'Get a code' }).click();
    const shown = page.getByTestId('pairing-code');
    await shown.waitFor();
    await phone.types((await shown.textContent())!.replace('-', ''));
    await page.getByRole('heading', { name: 'The phone is linked' }).waitFor();
    expect(await page.getByTestId('linked-phone').textContent()).toBe('+5511955550009');
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('button', { name: /^Not this number: unlink/ }).click();
    await page.getByRole('heading', { name: 'The phone is unlinked' }).waitFor();
    const read = () => client.expect<{ state: string }>(200, 'GET', `/v1/instances/${id}`);
    await until(async () => (await read()).state === 'pending_pair', { what: 'the phone is unlinked' });
    await page.getByRole('button', { name: 'Try again' }).click();
    await shown.or(page.getByAltText('QR code to scan with the phone')).waitFor();
  });

  test('the page shows that the phone waits for its passkey, and why that ended', async () => {
    const { client, account } = stage.customer;
    await stage.gateway.gwk('account', 'allow-passkeys', account.name);
    const phone = await stage.network.phone('5511955550019', { name: 'Passkey' });
    await phone.behaves({ needsPasskey: true });
    const { id } = await client.expect<{ id: string }>(201, 'POST', '/v1/instances', {
      body: { name: 'Passkey shop', kind: 'web' },
    });
    const page = await stage.signIn();
    await show(page, stage.at(`numbers/${id}/pairing`));
    await page.getByAltText('QR code to scan with the phone').waitFor();
    const { qr } = await client.expect<{ qr: { code: string } }>(200, 'GET', `/v1/instances/${id}/pairing`);
    await expect(phone.scan(qr.code)).rejects.toThrow('without a passkey');
    await page.getByRole('heading', { name: 'The phone asks for its passkey' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    for (const connection of stage.running.network.world.connections) connection.cut();
    await page.getByText('The connection ended while the passkey was awaited. Try again.').waitFor();
  });

  test('the list finds a number by its name and state, and explains its health in both languages', async () => {
    const { client } = stage.customer;
    const { id } = await client.connectedInstance('Listed shop');
    await client.connectedInstance('Another one');
    const page = await stage.signIn();
    await show(page, stage.at('numbers'));
    await page.getByRole('textbox', { name: 'Name, phone or id' }).fill('listed');
    await page.getByRole('link', { name: 'Another one' }).waitFor({ state: 'detached' });
    const row = page.getByRole('row', { name: /Listed shop/ });
    await row.getByText('Connected').waitFor();
    await row.getByText('Low risk').waitFor();
    // The address has the filter, so it can be shared.
    await page.waitForURL('**/numbers?search=listed');
    expect(await findViolations(page)).toEqual([]);
    await show(page, stage.at(`numbers/${id}`));
    await page.getByText('Age of the number').waitFor();
    await page.getByText('The number is new.', { exact: false }).first().waitFor();
    expect(await page.getByText('Idade do número').count()).toBe(0);
    const portuguese = await stage.signIn({ locale: 'pt-BR' });
    await show(portuguese, stage.at(`numbers/${id}`));
    await portuguese.getByText('Idade do número').waitFor();
    await portuguese.getByText('Dias de aquecimento que faltam: 14.').waitFor();
  });

  test('a contact is checked through a connected number', async () => {
    const { client } = stage.customer;
    await client.connectedInstance('Checking shop');
    const page = await stage.signIn();
    await show(page, stage.at('opt-outs'));
    const form = page.locator('form').filter({ hasText: 'Check a contact' });
    await form.getByRole('combobox', { name: 'Number' }).click();
    await page.getByRole('option', { name: 'Checking shop' }).click();
    await form.getByRole('textbox', { name: 'Phone number' }).fill('+55 11 98765-4321');
    await form.getByRole('button', { name: 'Check' }).click();
    await form.getByText(/^Has an account: /).waitFor();
  });
});
