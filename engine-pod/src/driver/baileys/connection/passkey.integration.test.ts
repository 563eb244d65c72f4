import { startNetwork, type RunningNetwork } from '@gwk/network/start';
import type { Manners } from '@gwk/network/people/account';
import type { Person } from '@gwk/network/control/client';
import { SimulatedInstance, QR } from '@gwk/test/support/engine/simulated-instance';
import { until } from '@gwk/test/support/wait';

/** The linking of a phone that requires a passkey, to its end in each variant. */
let running: RunningNetwork;
beforeAll(async () => {
  running = await startNetwork();
});
afterAll(() => running.close());

let last = 5511900000300;
const REQUEST = { ...QR, passkeys: true };
const HANDOFF_MS = 300_000;

async function begin(manners: Partial<Manners> = {}) {
  const phone = await running.client.phone(String(++last), { name: 'Shop' });
  await phone.behaves({ needsPasskey: true, ...manners });
  const number = new SimulatedInstance(running);
  await scan(phone, number);
  return { phone, number, options: await request(number) };
}

async function scan(phone: Person, number: SimulatedInstance): Promise<void> {
  number.connect(REQUEST);
  const { code } = await number.happens('qr');
  await expect(phone.scan(code)).rejects.toThrow('without a passkey');
}

async function request(number: SimulatedInstance) {
  const { options } = await number.happens('passkey');
  number.events.length = 0;
  return options;
}

const kinds = (number: SimulatedInstance): string[] => number.events.map(({ kind }) => kind);

/** Answers the request, as the API does with the assertion of a browser. */
async function answer(
  phone: Person,
  number: SimulatedInstance,
  options: { challenge: string; rpId: string },
) {
  const credential = JSON.stringify(await phone.asserts(options));
  await number.driver.takePasskey({ kind: 'assertion', credential });
}

/** Lets five minutes pass with traffic, so that the scanned code no longer replaces the comparison. */
async function outliveHandoff(phone: Person, number: SimulatedInstance) {
  let options = { challenge: '', rpId: '' };
  for (let passed = 0; passed < HANDOFF_MS; passed += 20_000) {
    number.clock.advance(20_000);
    await running.client.call('repeatPasskeyRequest', { number: phone.number });
    options = await request(number);
  }
  return options;
}

async function reachComparison(manners: Partial<Manners> = {}) {
  const { phone, number } = await begin(manners);
  await answer(phone, number, await outliveHandoff(phone, number));
  const { code } = await number.happens('passkey-code');
  return { phone, number, code };
}

async function works(phone: Person, number: SimulatedInstance): Promise<void> {
  await number.happens('opened');
  const ana = await running.client.contact(String(++last), { name: 'Ana' });
  await ana.writes('oi', { to: phone.number });
  await until(() => number.rows.inbound.length > 0, { what: 'the message is received' });
  expect((await running.client.status()).violations).toEqual([]);
  await number.driver.close();
}

async function fails(number: SimulatedInstance, reason: string): Promise<void> {
  expect((await number.happens('closed')).disconnect).toEqual({ kind: 'pairing-failed', reason });
  expect(kinds(number)).not.toContain('paired');
  expect(number.rows.of('creds')).toEqual([]);
  number.events.length = 0;
  number.connect();
  expect((await number.happens('closed')).disconnect).toEqual({ kind: 'logged-out', reason: 'no_session' });
  await number.driver.close();
}

test('links without a comparison after the proof of the hand-off, and asks again at the next linking', async () => {
  const { phone, number, options } = await begin();
  expect(options).toMatchObject({ rpId: 'whatsapp.com', userVerification: 'required' });
  await answer(phone, number, options);
  await number.happens('paired');
  expect(kinds(number)).not.toContain('passkey-code');
  await works(phone, number);
  const next = new SimulatedInstance(running);
  await scan(phone, next);
  const again = await request(next);
  expect(again.challenge).not.toBe(options.challenge);
  await answer(phone, next, again);
  await works(phone, next);
});

test('links by a typed code', async () => {
  const phone = await running.client.phone(String(++last));
  await phone.behaves({ needsPasskey: true });
  const number = new SimulatedInstance(running);
  number.connect({ ...REQUEST, method: 'code', phone: phone.number });
  const { code } = await number.happens('pairing-code');
  await expect(phone.types(code)).rejects.toThrow('without a passkey');
  await answer(phone, number, await request(number));
  await works(phone, number);
});

test('shows the code of the phone later than five minutes, and links once the codes are equal', async () => {
  const { phone, number, code } = await reachComparison();
  expect(code).toBe((await phone.passkey()).code!.replace(/^.{4}/, '$&-'));
  expect(kinds(number)).not.toContain('paired');
  await number.driver.takePasskey({ kind: 'comparison', equal: true });
  await works(phone, number);
});

test('links nothing when the codes differ', async () => {
  const { phone, number, code } = await reachComparison({ passkeyEnds: 'code-differs' });
  expect(code.replace('-', '')).not.toBe((await phone.passkey()).code);
  await number.driver.takePasskey({ kind: 'comparison', equal: false });
  await fails(number, 'passkey_refused');
  expect(running.network.world.people.need(phone.number).companions.size).toBe(0);
});

test('answers a repeated request, and not the one before it', async () => {
  const { phone, number, options } = await begin();
  await running.client.call('repeatPasskeyRequest', { number: phone.number });
  const repeated = await request(number);
  expect(repeated.challenge).not.toBe(options.challenge);
  await answer(phone, number, repeated);
  await works(phone, number);
});

test('outlives the codes', async () => {
  const { phone, number, options } = await begin();
  for (let passed = 0; passed < 7; passed += 1) {
    number.clock.advance(20_000);
    await running.client.call('repeatPasskeyRequest', { number: phone.number });
    options.challenge = (await request(number)).challenge;
  }
  expect(kinds(number)).toEqual([]);
  await answer(phone, number, options);
  await works(phone, number);
});

test('expires with the time limit of the request', async () => {
  const { number } = await begin({ passkeyMs: 10_000 });
  number.clock.advance(9_999);
  expect(kinds(number)).toEqual([]);
  number.clock.advance(1);
  await fails(number, 'passkey_expired');
});

test('expires when the phone does not continue', async () => {
  const { phone, number, options } = await begin({ passkeyEnds: 'gone', passkeyMs: 10_000 });
  await answer(phone, number, options);
  number.clock.advance(10_000);
  await fails(number, 'passkey_expired');
});

test('ends with the refusal of the network', async () => {
  const { phone, number, options } = await begin({ passkeyEnds: 'refused' });
  await expect(answer(phone, number, options)).rejects.toThrow();
  await fails(number, 'passkey_refused');
});

test('ends with a continuation that it does not understand', async () => {
  const { phone, number, options } = await begin({ passkeyEnds: 'malformed' });
  await answer(phone, number, options);
  await fails(number, 'passkey_unsupported');
});

test('ends with a lost connection, because a new one knows nothing of the request', async () => {
  const { number } = await begin();
  for (const connection of running.network.world.connections) connection.cut();
  await fails(number, 'passkey_interrupted');
});

test('refuses an assertion before the request and a second one, and a comparison before the code', async () => {
  const { phone, number, options } = await begin({ passkeyEnds: 'gone' });
  await expect(number.driver.takePasskey({ kind: 'comparison', equal: true })).rejects.toThrow();
  await answer(phone, number, options);
  await expect(answer(phone, number, options)).rejects.toThrow();
  await expect(number.driver.takePasskey({ kind: 'comparison', equal: true })).rejects.toThrow();
  await number.driver.close();
  await expect(answer(phone, number, options)).rejects.toThrow();
  const idle = new SimulatedInstance(running);
  await expect(answer(phone, idle, options)).rejects.toThrow();
});
